package library

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/models/hub"
	"tandem/storage"
)

// suggestedJSON is the catalogue: by memory class, the first choice first, and so the drafters of each
// model. Each is pulled at the commit that the catalogue names.
//
//go:embed suggested.json
var suggestedJSON []byte

// suggested reads the catalogue.
func suggested() ([]control.Suggested, error) {
	var list []control.Suggested
	return list, json.Unmarshal(suggestedJSON, &list)
}

// Bounds for asking the hub about sizes.
const (
	sizesTime   = 6 * time.Second  // in all
	sizesAtOnce = 4                // models asked about at the same time
	sizesAgain  = 10 * time.Second // between a failure and the next attempt
)

// sizes are the sizes of downloads as the hub told them.
type sizes struct {
	mu    sync.Mutex
	bytes map[string]int64 // by name
	tried time.Time        // when it last did not answer
	why   string           // why it did not: one sentence, logged before
	hub   int              // counts the changes of the hub, and of the way to it

	changes int // counts the changes of bytes
	stored  int // changes that are stored
}

// settingSizes has the sizes that the hub told, so that they show without a network. A size belongs to
// a commit, so it does not change.
const settingSizes = "hub_sizes"

// openSizes reads the sizes that the hub told an earlier process.
func (l *Library) openSizes(ctx context.Context) error {
	text, err := l.db.Setting(ctx, settingSizes)
	if text == "" {
		return err
	}
	l.sizes.mu.Lock()
	defer l.sizes.mu.Unlock()
	if json.Unmarshal([]byte(text), &l.sizes.bytes) != nil {
		l.sizes.bytes = nil // the hub is asked again
	}
	return nil
}

// keepSizes stores the sizes if some changed. If that fails, the next call tries again.
func (l *Library) keepSizes(ctx context.Context) {
	s := &l.sizes
	s.mu.Lock()
	text, err := json.Marshal(s.bytes)
	changes, stored := s.changes, s.stored
	s.mu.Unlock()
	if changes == stored {
		return
	}
	if err == nil {
		err = l.db.SetSetting(ctx, settingSizes, string(text))
	}
	if err != nil {
		l.log.Warn("the sizes of downloads are not kept", "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = max(s.stored, changes)
}

// Catalogue returns the suggested models, and which of them are there. ask says whether the hub is
// asked for sizes that are not known. It implements server.Library.
func (l *Library) Catalogue(ctx context.Context, ask bool) (control.Catalogue, error) {
	rows, err := l.db.Models.List(ctx)
	if err != nil {
		return control.Catalogue{}, err
	}
	out := control.Catalogue{Memory: l.pool.MachineMemory(), Models: slices.Clone(l.offers)}
	var names []string
	o := l.settings.Hub()
	for i := range out.Models {
		m := &out.Models[i]
		// Some systems report a little less memory than the maker names.
		if int64(m.From)<<30 <= out.Memory+out.Memory/20 {
			out.Class = max(out.Class, m.From)
		}
		m.Registered = slices.ContainsFunc(rows, func(r storage.Model) bool { return r.ID == m.ID })
		names = append(names, hubName(m.ID, m.Revision))
		m.Drafters = slices.Clone(m.Drafters)
		for k := range m.Drafters {
			d := &m.Drafters[k]
			_, err := hub.Resolve(o.CacheDir, d.ID)
			d.Here = err == nil
			names = append(names, hubName(d.ID, d.Revision))
		}
	}
	if ask {
		out.Why = l.sizes.ask(ctx, o, names)
		l.keepSizes(ctx)
	}
	for i := range out.Models {
		m := &out.Models[i]
		m.Bytes = l.sizes.of(hubName(m.ID, m.Revision))
		for k, d := range m.Drafters {
			m.Drafters[k].Bytes = l.sizes.of(hubName(d.ID, d.Revision))
		}
	}
	return out, nil
}

// drafterToo returns the drafter that comes with a model of the catalogue, unless it is there. ok is
// false for other models.
func (l *Library) drafterToo(id string) (d control.SuggestedDrafter, ok bool) {
	d, ok = l.defaultDrafter(id)
	if !ok {
		return d, false
	}
	_, err := hub.Resolve(l.settings.Hub().CacheDir, d.ID)
	return d, err != nil
}

// InCatalogue reports whether the catalogue has a model.
func (l *Library) InCatalogue(id string) bool { return l.offer(id) >= 0 }

// offer returns the index of a model in the catalogue, -1 if it is not there.
func (l *Library) offer(id string) int {
	return slices.IndexFunc(l.offers, func(m control.Suggested) bool { return m.ID == id })
}

// defaultDrafter returns the first drafter of a model of the catalogue.
func (l *Library) defaultDrafter(id string) (d control.SuggestedDrafter, ok bool) {
	i := l.offer(id)
	if i < 0 || len(l.offers[i].Drafters) == 0 {
		return d, false
	}
	return l.offers[i].Drafters[0], true
}

// hubName returns the name of a model at the hub: ORG/NAME, or ORG/NAME@REVISION.
func hubName(id, revision string) string {
	if revision == "" {
		return id
	}
	return id + "@" + revision
}

// of returns the size of a download, 0 if it is not known.
func (s *sizes) of(name string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes[name]
}

// forget makes the next ask start over: the hub is another, or the way to it.
func (s *sizes) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes, s.tried, s.why = nil, time.Time{}, ""
	s.hub++
	s.changes++
}

// ask asks the hub for the sizes that are not known yet. It returns why some are still unknown.
func (s *sizes) ask(ctx context.Context, o hub.Options, names []string) (why string) {
	s.mu.Lock()
	if s.bytes == nil {
		s.bytes = map[string]int64{}
	}
	names = slices.DeleteFunc(slices.Clone(names),
		func(name string) bool { return s.bytes[name] > 0 })
	why, asks := s.why, s.hub
	asked := time.Since(s.tried) < sizesAgain
	s.mu.Unlock()
	if len(names) == 0 || asked {
		return why
	}
	log := o.Logger
	o.Logger = nil // it would log each attempt for each model
	ctx, cancel := context.WithTimeout(ctx, sizesTime)
	defer cancel()
	var wg sync.WaitGroup
	slots := make(chan struct{}, sizesAtOnce)
	failures := make([]error, len(names))
	reasons := make([]string, len(names))
	for i, name := range names {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			n, err := hub.Size(ctx, name, o)
			if err == nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.hub == asks {
					s.bytes[name] = n
					s.changes++
				}
				return
			}
			failures[i], reasons[i] = err, bareReason(err, name)
			if ctx.Err() != nil {
				reasons[i] = "the hub does not answer in time"
			}
		})
	}
	wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hub != asks {
		return "" // the answers are from another hub
	}
	// The failure of the first name is told: chance decides which one came first.
	why = ""
	if i := slices.IndexFunc(failures, func(err error) bool { return err != nil }); i >= 0 {
		s.tried, why = time.Now(), reasons[i]
		if why != s.why {
			log.Info("the hub tells no sizes", "reason", why, "cause", errors.Unwrap(failures[i]))
		}
	}
	s.why = why
	return why
}
