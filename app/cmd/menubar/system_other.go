//go:build desktop && !darwin

package main

import (
	"errors"

	"tandem/app/menu"
)

// login returns the state that cannot be known: other desktops start programs in their own ways.
func login() menu.Login { return menu.LoginUnknown }

func setLogin(bool) error { return errors.New("starting at login cannot be changed here") }

// onReopen does nothing: here a second instance asks over the socket.
func onReopen(func()) error { return nil }
