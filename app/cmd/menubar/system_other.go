//go:build desktop && !darwin

package main

import (
	"errors"

	"tandem/app/menu"
)

// login cannot be told here: that is a desktop's own matter.
func login() menu.Login { return menu.LoginUnknown }

func setLogin(bool) error { return errors.New("starting at login cannot be changed here") }

// onReopen has nothing to do: a second start knocks at the door.
func onReopen(func()) error { return nil }
