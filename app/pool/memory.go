package pool

import (
	"cmp"
	"context"

	"tandem/app/home"
	"tandem/engine/mlx"
	"tandem/engine/texts"
)

// Room returns how much of this machine's memory models may take, in bytes. What checkpoints and
// remembered texts may take is not part of it.
func (p *Pool) Room() int64 {
	if p.MachineMemory() <= 0 {
		return p.besideTexts()
	}
	return max(0, p.besideTexts()-p.CheckpointBytes())
}

// roomLeft returns how much of Room the models in memory leave, below 0 if they need more than there
// is. The caller holds p.mu.
func (p *Pool) roomLeft() int64 {
	left := p.Room()
	for _, m := range p.resident {
		left -= m.needs.bytes()
	}
	return left
}

// besideTexts returns how much memory models and checkpoints may take, in bytes. Remembered texts
// come first: their bound is small, and nothing takes them away while requests use them.
func (p *Pool) besideTexts() int64 {
	room := roomFor(p.MachineMemory())
	if p.MachineMemory() <= 0 || p.opts.NoCheckpoints {
		return room
	}
	return max(0, room-texts.MaxBytes)
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
