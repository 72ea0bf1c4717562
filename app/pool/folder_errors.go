package pool

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"tandem/app/control"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage"
)

// NotRegistered returns err as a client is told of it: a missing row becomes CodeModelNotFound.
func NotRegistered(err error, name string) error {
	if !storage.IsNotFound(err) {
		return err
	}
	return control.Errorf(control.CodeModelNotFound,
		"The model %q is not registered. `tandem models list` shows the registered models; "+
			"`tandem models found` shows others on this computer, which `tandem models add` adds, "+
			"and `tandem pull ORG/NAME` downloads one.", name)
}

// Unusable returns the error of a registered model's files, see InvalidModel.
func Unusable(row storage.Model, err error) *control.Error {
	if e, ok := errors.AsType[*models.Error](err); ok && e.Code == models.CodeNotFound &&
		errors.Is(err, fs.ErrNotExist) {
		back := "put it back"
		switch row.Source {
		case storage.SourceHub:
			back = "download it with `tandem pull " + cmp.Or(hub.NameOf(row.Path), row.ID) + "`"
		case storage.SourceOllama:
			back = "fetch it with `ollama pull`"
		}
		return &control.Error{Code: control.CodeModelInvalid, Err: err, Message: fmt.Sprintf(
			"The model %s is no longer at %s; %s, or take it off the list with "+
				"`tandem models remove %s`.", row.ID, row.Path, back, row.ID)}
	}
	return InvalidModel(err)
}

// InvalidModel returns the error of a model's folder as a client is told of it: CodeModelInvalid.
func InvalidModel(err error) *control.Error {
	return &control.Error{Code: control.CodeModelInvalid, Message: err.Error(), Err: err}
}
