// Package program builds the programs for this machine, and starts them for tests and people.
package program
