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

// suggestedJSON is the catalogue: by memory class, the first choice first. Each is
// pulled at the commit that is named with it.
//
//go:embed suggested.json
var suggestedJSON []byte

// suggested reads the catalogue.
func suggested() ([]control.Suggested, error) {
	var list []control.Suggested
	return list, json.Unmarshal(suggestedJSON, &list)
}

// How long the hub may take to tell sizes, how many models it is asked about at
// once, and after what time it is asked again about one that it said nothing of.
const (
	sizesTime  = 6 * time.Second
	sizesAtOne = 4
	sizesAgain = 10 * time.Second
)

// sizes are what the hub said of how much there is to download.
type sizes struct {
	mu    sync.Mutex
	bytes map[string]int64 // by name
	Tried time.Time        // the last time that it did not answer
	why   string           // it did not, one sentence, which was logged
	hub   int              // counts the hubs that were asked, and the ways there
}

// Catalogue implements server.Library. The hub is asked for sizes if ask says so.
func (l *Library) Catalogue(ctx context.Context, ask bool) (control.Catalogue, error) {
	list, err := suggested()
	if err != nil {
		return control.Catalogue{}, err
	}
	rows, err := l.db.Models(ctx)
	if err != nil {
		return control.Catalogue{}, err
	}
	out := control.Catalogue{Memory: l.pool.MachineMemory(), Models: list}
	var names []string
	o := l.settings.Hub()
	for i := range list {
		m := &list[i]
		// Some systems keep a little of what the maker names for themselves.
		if int64(m.From)<<30 <= out.Memory+out.Memory/20 {
			out.Class = max(out.Class, m.From)
		}
		m.Registered = slices.ContainsFunc(rows, func(r storage.Model) bool { return r.ID == m.ID })
		names = append(names, hubName(m.ID, m.Revision))
		if m.Drafter != "" {
			_, err := hub.Resolve(o.CacheDir, m.Drafter)
			m.HasDrafter = err == nil
			names = append(names, hubName(m.Drafter, m.DrafterRevision))
		}
	}
	if ask {
		out.Why = l.Sizes.ask(ctx, o, names)
	}
	l.Sizes.mu.Lock()
	defer l.Sizes.mu.Unlock()
	for i := range list {
		m := &list[i]
		m.Bytes = l.Sizes.bytes[hubName(m.ID, m.Revision)]
		if m.Drafter != "" {
			m.DrafterBytes = l.Sizes.bytes[hubName(m.Drafter, m.DrafterRevision)]
		}
	}
	return out, nil
}

// hubName is what the hub calls a model at a revision, which may be empty.
func hubName(id, revision string) string {
	return pullName(control.PullRequest{ID: id, Revision: revision})
}

// forget has the hub asked anew: it is another, or another way leads there.
func (s *sizes) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes, s.Tried, s.why = nil, time.Time{}, ""
	s.hub++
}

// ask learns the sizes that are not known yet, and returns why some still are not.
func (s *sizes) ask(ctx context.Context, o hub.Options, names []string) (why string) {
	s.mu.Lock()
	if s.bytes == nil {
		s.bytes = map[string]int64{}
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return s.bytes[name] > 0 })
	why, asks := s.why, s.hub
	asked := time.Since(s.Tried) < sizesAgain
	s.mu.Unlock()
	if len(names) == 0 || asked {
		return why
	}
	log := o.Logger
	o.Logger = nil // of each attempt for each model
	ctx, cancel := context.WithTimeout(ctx, sizesTime)
	defer cancel()
	var wg sync.WaitGroup
	slots := make(chan struct{}, sizesAtOne)
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
		return "" // what another said
	}
	// Of several the one of the first name: which failed first is chance.
	why = ""
	if i := slices.IndexFunc(failures, func(err error) bool { return err != nil }); i >= 0 {
		s.Tried, why = time.Now(), reasons[i]
		if why != s.why {
			log.Info("the hub tells no sizes", "reason", why, "cause", errors.Unwrap(failures[i]))
		}
	}
	s.why = why
	return why
}
