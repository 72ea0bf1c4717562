package library

import (
	"context"
	"fmt"

	"tandem/app/control"
	"tandem/models/hub"
)

// The drafter of a suggested model is a separate download, which begins with the model's. The
// state shows both as one. Pause and cancel stop both. A drafter that fails, or that takes longer, is
// shown by itself once the model is there.

// drafterOf returns the download of the drafter that comes with a model, or nil. The
// caller holds d.mu.
func (d *downloads) drafterOf(l *Library, model string) *download {
	s, ok := l.defaultDrafter(model)
	if !ok {
		return nil
	}
	if x := d.find(s.ID); x != nil && !x.dropped() {
		return x
	}
	return nil
}

// modelOf returns the download of the model that a drafter comes with, or nil. The
// caller holds d.mu.
func (d *downloads) modelOf(l *Library, drafter string) *download {
	for _, x := range d.list {
		if s, ok := l.defaultDrafter(x.ID); ok && s.ID == drafter && !x.dropped() {
			return x
		}
	}
	return nil
}

// Downloads returns the downloads for the state, the oldest first. A model's has the bytes of the
// drafter that comes with it.
func (l *Library) Downloads() []control.Download {
	d := &l.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]control.Download, 0, len(d.list))
	for _, x := range d.list {
		if x.dropped() || d.modelOf(l, x.ID) != nil {
			continue
		}
		shown := x.Download
		drafter := d.drafterOf(l, x.ID)
		if drafter == nil && x.drafted > 0 { // it is complete
			s, _ := l.defaultDrafter(x.ID)
			shown.Drafter = s.ID
			shown.Done += x.drafted
			if shown.Total > 0 {
				shown.Total += x.drafted
			}
		}
		if drafter != nil {
			l.showDrafter(&shown, drafter)
		}
		list = append(list, shown)
	}
	return list
}

// showDrafter adds a drafter to the download of its model. The total is not known before both are.
// What a failed drafter lacks does not count. The caller holds downloads.mu.
func (l *Library) showDrafter(shown *control.Download, drafter *download) {
	shown.Drafter, shown.DrafterError = drafter.ID, drafter.Error
	shown.Done += drafter.Done
	shown.PerSecond += drafter.PerSecond
	total := max(drafter.Total, l.sizes.of(hubName(drafter.ID, drafter.revision)))
	if drafter.Error != "" {
		total = drafter.Done
	}
	switch {
	case shown.Total == 0:
	case total == 0 && drafter.Error == "":
		shown.Total = 0
	default:
		shown.Total += total
	}
}

// pullDrafter downloads the drafter that comes with a model of the catalogue, after the model. size
// is what the model took. It returns what a person should know. A drafter that fails is not an error.
func (l *Library) pullDrafter(ctx context.Context, model string, s control.SuggestedDrafter,
	o hub.Options, size int64, progress func(control.Progress)) (note string) {
	_, err := l.pull(ctx, control.PullRequest{ID: s.ID, Revision: s.Revision}, o,
		func(p control.Progress) {
			if p.Note != "" {
				return // it tells of a drafter that was pulled alone
			}
			p.Done += size
			if p.Total > 0 {
				p.Total += size
			}
			progress(p)
		})
	if err != nil {
		return fmt.Sprintf("its drafter %s was not downloaded, and %s answers without it: %v; download the drafter to try again",
			s.ID, model, err)
	}
	return fmt.Sprintf("its drafter %s came with it, and guesses ahead from the next load on", s.ID)
}
