package server

import (
	"context"

	"tandem/app/control"
)

// A Machine describes the computer.
type Machine interface {
	Machine(context.Context) (control.Machine, error)
}

func addMachine(to *controlRoutes, of Machine) {
	handle(to, control.GetMachine, ask(of.Machine))
}
