// Package connect writes the settings with which editors and agents reach the endpoint: a text for
// each client, and a file with it in the home folder.
//
// The texts are made here and not in the page, for two reasons. Each file is compared with the text
// that would be written now, even when no page is open. And a program with a session cannot make
// Tandem write any other text.
//
// The files are in the folder connect of the home folder. Tandem never touches the users' own
// configuration files.
package connect
