// Package terminal is what the mains of the command line share beside cobra, which reads command lines:
// help and mistakes in few lines, exit codes, questions, and tables in which no name moves the cursor. It
// knows nothing of what the verbs do.
//
// golang.org/x/sys tells whether standard error is a terminal.
package terminal
