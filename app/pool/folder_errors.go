package pool

import (
	"tandem/app/control"
	"tandem/storage"
)

// NotRegistered returns err as a client is told of it: a missing row becomes CodeModelNotFound.
func NotRegistered(err error, name string) error {
	if !storage.IsNotFound(err) {
		return err
	}
	return control.Errorf(control.CodeModelNotFound,
		"The model %q is not registered. `tandem models list` shows the registered models; `tandem models add FOLDER` or `tandem pull ORG/NAME` adds one.", name)
}

// InvalidModel returns the error of a model's folder as a client is told of it: CodeModelInvalid.
func InvalidModel(err error) *control.Error {
	return &control.Error{Code: control.CodeModelInvalid, Message: err.Error(), Err: err}
}
