package control

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Levels of a Pressure, as the system names them.
const (
	PressureWarning  = "warning"
	PressureCritical = "critical"
)

// Pressure tells of a shortage of memory of the whole machine, and what Tandem freed because of it.
// Models come back with the next request that names them. Checkpoints stay on disk.
type Pressure struct {
	Level string    `json:"level"` // PressureWarning or PressureCritical
	Since time.Time `json:"since"`

	Unloaded        []string `json:"unloaded"`         // models that left the memory, the first one first
	FreedBytes      int64    `json:"freed_bytes"`      // of memory, by these models
	CheckpointBytes int64    `json:"checkpoint_bytes"` // of memory, by checkpoints

	Text string `json:"text"` // all of this in plain words
}

// Told returns a copy with its text. The time in it is local, as a person reads it.
func (p Pressure) Told() Pressure {
	p.Unloaded = slices.Clone(p.Unloaded)
	if p.Unloaded == nil {
		p.Unloaded = []string{}
	}
	list := []string{"This machine has been short of memory since " + p.clock() + "."}
	if len(p.Unloaded) > 0 {
		list = append(list, fmt.Sprintf("Tandem unloaded %s%s. The next request loads %s again.",
			enumerate(p.Unloaded, "and"), amount(p.FreedBytes), it(len(p.Unloaded))))
	}
	if p.CheckpointBytes > 0 {
		list = append(list, fmt.Sprintf("Tandem took %s of checkpoints out of memory. What is on disk stays.",
			MemorySize(p.CheckpointBytes)))
	}
	if len(list) == 1 {
		list = append(list, "Tandem has nothing idle to free.")
	}
	p.Text = strings.Join(list, " ")
	return p
}

// Line returns the words for a row of the menu.
func (p Pressure) Line() string {
	line := "Short of memory since " + p.clock()
	switch n := len(p.Unloaded); {
	case n == 1:
		line += ": unloaded " + p.Unloaded[0]
	case n > 1:
		line += ": unloaded " + Plural(n, "model")
	case p.CheckpointBytes > 0:
		line += ": freed " + MemorySize(p.CheckpointBytes)
	}
	return line
}

func (p Pressure) clock() string { return p.Since.Local().Format("15:04") }

// amount returns an amount of memory in brackets, empty if it is small or not known.
func amount(bytes int64) string {
	if bytes < 1<<20 {
		return ""
	}
	return " (" + MemorySize(bytes) + ")"
}

func it(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}
