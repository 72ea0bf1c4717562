package pool

import (
	"cmp"
	"context"

	"tandem/app/home"
	"tandem/engine/mlx"
)

// Room returns how much of this machine's memory models may take, in bytes. What checkpoints may
// take is not part of it.
func (p *Pool) Room() int64 {
	memory := p.MachineMemory()
	if memory <= 0 {
		return roomFor(memory)
	}
	return max(0, roomFor(memory)-p.CheckpointBytes())
}

// MachineMemory returns the machine's memory in bytes, 0 if it is not known.
func (p *Pool) MachineMemory() int64 { return cmp.Or(p.opts.Memory, home.Memory()) }

// Wire lets the memory of models stay resident, see mlx.Scope.Wire. Where the system does not allow
// that, everything works, but slower after a pause.
func (p *Pool) Wire(ctx context.Context) {
	var limit int64
	err := p.thread.Do(ctx, func(s *mlx.Scope) (err error) {
		limit, err = s.Wire(roomFor(p.MachineMemory()))
		return err
	})
	if err != nil {
		p.log.Warn("no memory is wired", "error", err)
		return
	}
	p.log.Debug("memory may be wired", "bytes", limit)
}
