package library

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/app/pool"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
)

// Pull downloads a model and registers it, with progress on the way. The drafter of a suggested model
// comes with it, and its bytes count from the beginning. It implements server.Library.
func (l *Library) Pull(ctx context.Context, r control.PullRequest,
	progress func(control.Progress)) (control.Model, error) {
	o := l.settings.Hub()
	r = nameFromPage(r, o)
	drafter, missing := l.drafterToo(r.ID)
	if r.NoDrafter || !missing {
		return l.pull(ctx, r, o, progress)
	}
	l.sizes.ask(ctx, o, []string{hubName(drafter.ID, drafter.Revision)})
	more := l.sizes.of(hubName(drafter.ID, drafter.Revision))
	var size int64
	var notes []string
	model, err := l.pull(ctx, r, o, func(p control.Progress) {
		size = max(size, p.Total)
		if p.Note != "" {
			notes = append(notes, p.Note)
			return
		}
		if p.Total > 0 {
			p.Total += more
		}
		progress(p)
	})
	if err == nil {
		notes = append(notes, l.pullDrafter(ctx, model.ID, drafter, o, size, progress))
	}
	if ctx.Err() != nil {
		return control.Model{}, context.Cause(ctx)
	}
	if notes != nil {
		progress(control.Progress{Note: strings.Join(notes, "; ")})
	}
	return model, err
}

// nameFromPage replaces the address of a model's page in a request by the model's name.
func nameFromPage(r control.PullRequest, o hub.Options) control.PullRequest {
	if name := hub.FromPage(r.ID, o.Endpoint); name != r.ID {
		id, revision, _ := strings.Cut(name, "@")
		r.ID, r.Revision = id, cmp.Or(r.Revision, revision)
	}
	return r
}

// pull is Pull with its own source and destination.
func (l *Library) pull(ctx context.Context, r control.PullRequest, o hub.Options,
	progress func(control.Progress)) (control.Model, error) {
	name := hubName(r.ID, r.Revision)
	id, _, err := hub.ParsePull(name)
	if err != nil {
		return control.Model{}, hubError(err)
	}
	if o.Existing, err = l.pulledFiles(ctx, id); err != nil {
		return control.Model{}, err
	}
	o.Check = func(files fs.FS, of *hub.GGUF) error { return l.checkPull(ctx, id, files, of) }
	snapshot, err := hub.Pull(ctx, name, o, func(p hub.Progress) {
		progress(control.Progress{Done: p.Done, Total: p.Total, PerSecond: int64(p.Rate),
			Waiting: p.Waiting})
	})
	if err != nil {
		return control.Model{}, hubError(err)
	}
	var notes []string
	if snapshot.Unchecked != nil {
		notes = append(notes, fmt.Sprintf("the hub could not be asked for a newer revision, so what the cache holds is used: %v",
			snapshot.Unchecked))
	}
	tell := func(more ...string) {
		if notes = append(notes, more...); notes != nil {
			progress(control.Progress{Note: strings.Join(notes, "; ")})
		}
	}
	if files, err := models.Open(snapshot.Dir); snapshot.GGUF == nil && err == nil && files.IsDrafter() {
		tell(id+" is a drafter and no model of its own",
			"a model takes a drafter of its own name and -DFlash, -DSpark, -MTP or -assistant when it is loaded next",
			"it can be chosen as the drafter of another model too")
		// the registry holds only what can be served
		if err := l.keepDrafterFile(ctx, storage.DrafterFile{ID: id, Path: snapshot.Dir,
			Revision: snapshot.Commit, DownloadedByUs: snapshot.Added}); err != nil {
			return control.Model{}, err
		}
		return control.Model{ID: id, Path: snapshot.Dir, Source: storage.SourceHub,
			Revision: snapshot.Commit}, nil
	}
	if g := snapshot.GGUF; g != nil {
		_, quantization := hub.CutQuantization(name)
		notes = append(notes, ggufNotes(id, quantization, g)...)
	}
	return l.keepModel(ctx, id, snapshot, tell)
}

// keepModel registers a model that was pulled, and deletes what Tandem downloaded of its earlier
// revision. It tells once what a person should know.
func (l *Library) keepModel(ctx context.Context, repository string, snapshot hub.Snapshot,
	tell func(notes ...string)) (control.Model, error) {
	id, path := repository, snapshot.Dir
	g := snapshot.GGUF
	if g != nil {
		path = filepath.Join(path, filepath.FromSlash(g.File))
		if g.Quantization != "" {
			id += ":" + g.Quantization
		}
	}
	old, err := l.pulledRow(ctx, repository, g)
	if err != nil {
		return control.Model{}, err
	}
	info, err := l.pool.Inspect(path)
	if err != nil {
		tell()
		return control.Model{}, pool.InvalidModel(err)
	}
	var notes []string
	if info.LeftOut != "" {
		notes = append(notes, fmt.Sprintf("%s reads text alone here: its parts for %s are left out",
			id, info.LeftOut))
	}
	another := g != nil && old.ID != "" && !g.IsNamedAlike(old.Path)
	if another {
		notes = append(notes, fmt.Sprintf("the repository has %s now where it had %s, which may be another model and stays on disk at %s",
			filepath.Base(path), filepath.Base(old.Path), old.Path))
	}
	tell(notes...)
	// Files that others downloaded stay theirs. Files that Tandem completed are its own.
	model, err := l.register(ctx, storage.Model{
		ID: cmp.Or(old.ID, id), Path: path, Source: storage.SourceHub, Revision: snapshot.Commit,
		DownloadedByUs: snapshot.Added,
	}, info)
	if err != nil || model.ID != old.ID || model.Path == old.Path || another {
		return model, err
	}
	// No row leads to the earlier snapshot any more.
	if _, err := l.deleteFiles(old); err != nil {
		l.log.Warn("the earlier snapshot stays on disk", "path", old.Path, "error", err)
	}
	return model, nil
}

// ggufNotes says which GGUF file was taken, unless it was asked for, and what was left out.
func ggufNotes(id, wish string, g *hub.GGUF) (notes []string) {
	if wish == "" && len(g.Others) > 0 {
		notes = append(notes, fmt.Sprintf("%s has several quantizations, and %s was taken; %s:%s names another one of %s",
			id, cmp.Or(g.Quantization, g.File), id, g.Others[0], strings.Join(g.Others, ", ")))
	}
	if g.Projector {
		notes = append(notes, "the mmproj files, which let the model see, were left out")
	}
	return notes
}

// checkPull refuses a model that could not be used, before its weights are fetched. Of a drafter it
// asks whether it fits one of the models that it would be taken for. Error: CodeModelInvalid.
func (l *Library) checkPull(ctx context.Context, id string, files fs.FS, of *hub.GGUF) error {
	if of != nil {
		m, err := models.OpenGGUF(files, of.File, id)
		if err == nil {
			_, err = m.Summary()
		}
		if err != nil {
			return pool.InvalidModel(err)
		}
		return nil
	}
	m := models.OpenFS(files, id)
	if !m.IsDrafter() {
		if _, err := m.Summary(); err != nil {
			return pool.InvalidModel(err)
		}
		return nil
	}
	targets, err := drafters.PairedModels(ctx, l.db, id)
	if err != nil {
		return err
	}
	if len(targets) == 0 { // its model may be pulled later
		targets = []string{""} // nothing
	}
	for _, target := range targets {
		// one that cannot be read says nothing about its drafter
		of, _ := models.Open(target)
		if err = m.CheckDrafter(of); err == nil {
			return nil
		}
	}
	return pool.InvalidModel(err)
}

// pulledRow returns the row of a repository's model, or the zero Model. Its id differs
// from the hub's if that was taken. Of several GGUF files it is the row of the same name, or else of
// the same quantization.
func (l *Library) pulledRow(ctx context.Context, repository string,
	of *hub.GGUF) (row storage.Model, err error) {
	rows, err := l.pulledRows(ctx, repository, of != nil)
	for _, r := range rows {
		switch {
		case of == nil || of.IsNamedAlike(r.Path):
			return r, nil
		case of.Is(r.Path) && row.ID == "":
			row = r
		}
	}
	return row, err
}

// pulledFiles returns the GGUF files of a repository that are models.
func (l *Library) pulledFiles(ctx context.Context, repository string) (paths []string, err error) {
	rows, err := l.pulledRows(ctx, repository, true)
	for _, row := range rows {
		paths = append(paths, row.Path)
	}
	return paths, err
}

// pulledRows returns the rows of a repository: those of its GGUF files, or those of its folders.
func (l *Library) pulledRows(ctx context.Context, repository string,
	files bool) (list []storage.Model, err error) {
	rows, err := l.db.Models.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		dir, odd := row.Path, error(nil)
		if files {
			dir, odd = hub.SnapshotOf(row.Path)
		}
		_, id, _, err := hub.ParseDir(dir)
		if row.Source == storage.SourceHub && cmp.Or(odd, err) == nil && id == repository {
			list = append(list, row)
		}
	}
	return list, nil
}

// hubError returns an error of the hub with the code of the control routes.
func hubError(err error) error {
	e, ok := errors.AsType[*hub.Error](err)
	if !ok {
		return err
	}
	code, param := control.CodeInternal, ""
	switch e.Code {
	case hub.Invalid, hub.Unsupported, hub.Unsafe:
		code, param = control.CodeInvalid, "id"
	case hub.BadOption:
		code = control.CodeInvalid
	case hub.NotFound:
		code = control.CodeModelNotFound
	case hub.Gated:
		code = control.CodeGated
	case hub.DiskFull:
		code = control.CodeDiskFull
	case hub.Busy:
		code = control.CodeModelBusy
	case hub.Offline, hub.RateLimited, hub.Unavailable, hub.BadReply, hub.Truncated,
		hub.HashMismatch:
		code = control.CodeUnavailable
	case hub.Disk:
		code = control.CodeFolder
	case hub.Incomplete, hub.Damaged:
		code = control.CodeModelInvalid
	}
	message := e.Error()
	if e.Name == "" {
		message = control.Sentence(e.Message)
	}
	return &control.Error{Code: code, Param: param, Message: message, Err: err}
}
