// Package terminal is what the mains of the command line share beside cobra, which reads command lines:
// help and mistakes in few lines, exit codes, questions, tables in which no name moves the cursor, lines
// that a person edits, and answers of models as they look on a terminal. It knows nothing of what the
// verbs do.
package terminal
