package main

import "tandem/app/terminal"

// Main is the program, apart from the process it runs in. Each verb is a function that takes it, and
// newMain alone knows all verbs.
type Main struct{ terminal.Program }
