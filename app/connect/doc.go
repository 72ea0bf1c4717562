// Package connect tells editors and agents how to reach the endpoint: the text for each client, and
// a file with it in the home folder.
//
// The texts are made here and not in the page, for two reasons. Each file is compared with the text
// that would be written now, also while no page is open. And a program with a session cannot make
// Tandem write any other text.
//
// The files lie in the folder connect of the home folder. Tandem never touches the users' own
// configuration files.
package connect
