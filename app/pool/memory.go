package pool

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"tandem/app/control"
	"tandem/app/eviction"
	"tandem/app/home"
	"tandem/engine/mlx"
	"tandem/engine/texts"
	"tandem/models"
	"tandem/storage"
)

// limits returns how much of this machine's memory models may take beside checkpoints and remembered
// texts.
func (s *sizer) limits() eviction.Limits {
	l := eviction.Limits{Memory: s.MachineMemory(), Checkpoints: s.CheckpointBytes()}
	if !s.opts.NoCheckpoints {
		l.Texts = texts.MaxBytes
	}
	return l
}

// Room returns how much of this machine's memory models may take, in bytes. What checkpoints and
// remembered texts may take is not part of it.
func (s *sizer) Room() int64 { return s.limits().Room() }

// MachineMemory returns the machine's memory in bytes, 0 if it is not known.
func (s *sizer) MachineMemory() int64 { return cmp.Or(s.opts.Memory, home.Memory()) }

// Wire lets the memory of models stay resident, see mlx.Scope.Wire. Where the system does not allow
// that, everything works, but slower after a pause.
func (p *Pool) Wire(ctx context.Context) {
	var limit int64
	err := p.thread.Do(ctx, func(s *mlx.Scope) (err error) {
		limit, err = s.Wire(eviction.RoomFor(p.MachineMemory()))
		return err
	})
	if err != nil {
		p.log.Warn("no memory is wired", "error", err)
		return
	}
	p.log.Debug("memory may be wired", "bytes", limit)
}

// Memory returns what each installed model would need if it were alone in memory. It implements
// server.Residents.
func (p *Pool) Memory(ctx context.Context) (control.Memory, error) {
	rows, err := p.db.Models.List(ctx)
	if err != nil {
		return control.Memory{}, err
	}
	out := control.Memory{Total: p.MachineMemory()}
	if out.Total > 0 {
		out.Room = p.Room()
	}
	out.Models = make([]control.ModelNeeds, len(rows))
	var reading sync.WaitGroup
	for i, row := range rows { // at once, since a folder that does not answer takes its time
		reading.Go(func() {
			m := &out.Models[i]
			m.ID, m.Kind = row.ID, row.Kind
			n, size, err := p.need(ctx, row)
			if needs := needsOf(n, err); needs != nil {
				m.Needs, m.Least = *needs, size.Least()
			} else {
				m.Why = err.Error()
			}
			found, _ := p.inspect(row) // why it cannot be loaded is told
			m.NoChat, m.Inexact = found.NoChat(), p.inexact(row, found)
		})
	}
	reading.Wait()
	return out, nil
}

// Needs returns what a model that is not registered would need if it were alone in memory. It is nil
// where only a registered model can tell: with a Restoration, which needs a drafter, and where kv_bits
// does not fit the heads, since settings of its own may say other bits.
func (s *sizer) Needs(of models.Summary) *control.Needs {
	set := s.formatSetting(control.ModelSettings{})
	m, refused := s.loadable(of, set)
	if refused != nil || s.opts.Restore != nil && of.Kind == models.KindText {
		return nil
	}
	n, ok := m.size(s.opts.ContextLength).Fit(s.Room())
	return &control.Needs{Bytes: n.Bytes(), Context: n.Context, Fits: ok}
}

// needsOf returns a need for people, or nil if err says that it is not known.
func needsOf(n eviction.Need, err error) *control.Needs {
	e, _ := errors.AsType[*control.Error](err)
	short := e != nil && e.Code == control.CodeMemory
	if err != nil && !short {
		return nil
	}
	return &control.Needs{Bytes: n.Bytes(), Context: n.Context, Fits: !short}
}

// inexact says what the weights of a model lose in memory, empty for nothing: of the whole if it is loaded,
// else of the sample in found. Packed weights lose nothing.
func (p *Pool) inexact(row storage.Model, found models.Summary) string {
	losses := found.Losses
	if m := find(p.look().models, row.ID); m != nil {
		losses = m.bundle.Losses
	} else if p.thread.Packs() && p.computesWide(found.Footprint, p.formatSetting(control.ModelSettings{}).dtype) {
		losses = nil
	}
	if losses == nil {
		return ""
	}
	var list []string
	for _, l := range losses {
		list = append(list, l.String())
	}
	return strings.Join(list, "; ") + " (a step is the rms of the file's own scales)"
}
