// Package program builds the three programs for this machine, and starts them for tests and people.
package program
