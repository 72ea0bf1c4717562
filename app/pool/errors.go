package pool

import (
	"tandem/app/control"
	"tandem/storage"
)

// NotRegistered turns a missing row into what the client is told.
func NotRegistered(err error, name string) error {
	if !storage.IsNotFound(err) {
		return err
	}
	return control.Errorf(control.CodeModelNotFound,
		"The model %q is not registered. `tandem models list` shows those that are; `tandem models add FOLDER` or `tandem pull ORG/NAME` adds one.", name)
}

// InvalidModel tells what is wrong with a model's folder.
func InvalidModel(err error) *control.Error {
	return &control.Error{Code: control.CodeModelInvalid, Message: err.Error(), Err: err}
}
