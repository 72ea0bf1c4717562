package home

import "context"

// A Pressure says how short of memory the whole machine is.
type Pressure int

// The levels, the lowest first.
const (
	PressureNormal   Pressure = iota
	PressureWarning           // programs should give up what they can make again
	PressureCritical          // the system stops programs, or makes all of them wait
)

// A PressureSource calls say with the present level of pressure, if the system tells it, and with
// each level that follows. It returns when ctx ends, or at once where the system has no levels.
type PressureSource func(ctx context.Context, say func(Pressure)) error
