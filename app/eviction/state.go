package eviction

import (
	"math"
	"time"

	"tandem/app/control"
)

// The system and other programs keep 1/systemPart of the machine's memory, systemBytes at least.
const (
	systemPart  = 4
	systemBytes = 2 << 30
)

// A State is what is in memory, and what may be.
type State struct {
	Limits
	Now           time.Time
	LoadOnRequest control.LoadOnRequest
	Current       string // id of the current model, in memory or not
	Models        []Model

	// CheckpointLimit bounds the memory of checkpoints during a shortage, in bytes; 0 = no limit.
	CheckpointLimit int64
}

// A Model is a model in memory.
type Model struct {
	ID       string
	Need     Need
	Users    int           // requests that hold it
	LastUse  int64         // number of its last use; no two uses of any models have the same
	Used     time.Time     // when that was, or ended
	LoadTime time.Duration // of its last load
	Kept     bool          // a person set it to stay in memory
	InFlight int64         // bytes that its sequences in flight may come to take

	KeepsCheckpoints bool // requests leave checkpoints of it
}

// Limits bound the memory that models may take.
type Limits struct {
	Memory      int64 // of the machine, in bytes; 0 = not known, so nothing is bounded
	Checkpoints int64 // bytes of it that checkpoints may take
	Texts       int64 // bytes of it that remembered texts may take
}

// RoomFor returns how much of a machine's memory models, checkpoints and texts may take, in bytes. It
// has no limit if the memory is not known.
func RoomFor(memory int64) int64 {
	if memory <= 0 {
		return math.MaxInt64
	}
	return max(0, memory-max(memory/systemPart, systemBytes))
}

// Room returns how many bytes models may take.
func (l Limits) Room() int64 {
	if l.Memory <= 0 {
		return math.MaxInt64
	}
	return max(0, l.besideTexts()-l.Checkpoints)
}

// besideTexts returns how many bytes models and checkpoints may take. Remembered texts come first:
// their bound is small, and nothing takes them away while requests use them.
func (l Limits) besideTexts() int64 {
	if l.Memory <= 0 {
		return math.MaxInt64
	}
	return max(0, RoomFor(l.Memory)-l.Texts)
}

// Left returns how many bytes the models in memory leave of Room, below 0 if they need more.
func (s State) Left() int64 {
	left := s.Room()
	for _, m := range s.Models {
		left -= m.Need.Bytes()
	}
	return left
}

// model returns the model of an id, or nil if it is not in memory.
func (s State) model(id string) *Model {
	for i := range s.Models {
		if s.Models[i].ID == id {
			return &s.Models[i]
		}
	}
	return nil
}
