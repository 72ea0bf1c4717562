// Package terminal is what the mains of the command line share: a table of verbs with their flags and
// help, exit codes, questions, and tables in which no name moves the cursor. It knows nothing of what
// the verbs do.
//
// golang.org/x/sys tells whether standard error is a terminal.
package terminal
