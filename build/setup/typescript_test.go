package setup

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStructsBecomeInterfaces expects interfaces for structs with JSON names, and unions for string
// types.
func TestStructsBecomeInterfaces(t *testing.T) {
	dir := t.TempDir()
	const source = `package x

import "time"

// A Phase is where it stands.
type Phase string

const (
	PhaseA Phase = "a"
	PhaseB Phase = "b"
)

// A Thing is one.
// It has two lines.
type Thing struct {
	ID    string         ` + "`json:\"id\"`" + ` // org/name
	N     *int           ` + "`json:\"n,omitempty\"`" + `
	Phase Phase          ` + "`json:\"phase\"`" + `
	Times []time.Time    ` + "`json:\"times\"`" + `
	Parts []*Thing       ` + "`json:\"parts\"`" + `
	Names map[int64]string ` + "`json:\"names\"`" + `
	inner int
}

// A Named is a thing with a name.
type Named struct {
	Thing
	Name string ` + "`json:\"name\"`" + `
}

type plain struct{ X int }

// A Pair is two.
type Pair [2]float64
`
	const want = `// Made of the structs of app/control and storage/record by ` + "`go run ./build setup`" +
		`. Edit those.

// A Thing is one.
// It has two lines.
export interface Thing {
  id: string // org/name
  n?: number | null
  phase: Phase
  times: string[]
  parts: (Thing | null)[]
  names: Record<number, string>
}

// A Named is a thing with a name.
export interface Named extends Thing {
  name: string
}

// A Pair is two.
export type Pair = [number, number]

export type Phase = "a" | "b"
`
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := typescript(dir)
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "y.go"),
		[]byte("package x\n\ntype T struct{ C chan int `json:\"c\"` }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := typescript(dir); err == nil {
		t.Error("a channel has a type in JSON")
	}
	if _, err := typescript(t.TempDir()); err == nil {
		t.Error("there is nothing to write, and no error")
	}
}
