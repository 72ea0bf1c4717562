package pool

import (
	"errors"
	"fmt"
	"io/fs"

	"tandem/app/control"
	"tandem/models"
	"tandem/storage"
)

// NotInstalled returns err as a client is told of it: a missing row becomes CodeModelNotFound.
func NotInstalled(err error, name string) error {
	if !storage.IsNotFound(err) {
		return err
	}
	return control.NotInstalled(name)
}

// Unusable returns the error of a registered model's files, see InvalidModel.
func Unusable(row storage.Model, err error) *control.Error {
	if e, ok := errors.AsType[*models.Error](err); ok && e.Code == models.CodeNotFound &&
		errors.Is(err, fs.ErrNotExist) {
		back := "put it back"
		switch row.Source {
		case storage.SourceHub:
			back = "download it again"
		case storage.SourceOllama:
			back = "pull it again in Ollama"
		}
		return &control.Error{Code: control.CodeModelInvalid, Err: err, Message: fmt.Sprintf(
			"The model %s is no longer at %s; %s, or remove it from the list.", row.ID, row.Path, back)}
	}
	return InvalidModel(err)
}

// InvalidModel returns the error of a model's folder as a client is told of it: CodeModelInvalid.
func InvalidModel(err error) *control.Error {
	return &control.Error{Code: control.CodeModelInvalid, Message: err.Error(), Err: err}
}
