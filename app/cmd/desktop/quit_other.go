//go:build desktop && !darwin

package main

// letSystemQuit has nothing to do: no system asks here.
func letSystemQuit() error { return nil }
