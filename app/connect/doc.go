// Package connect writes the settings with which editors and agents reach the endpoint: a text for
// each client, and a file with it in the home folder.
//
// The texts are made here and not in the page, for two reasons. Each file is compared with the text
// that would be written now, even when no page is open. And a program with a session cannot make
// Tandem write any other text.
//
// The same table tells `tandem launch` how a program is told of the endpoint for one run: see [Command].
//
// A row is added to editors, agents or scripts. Its form comes from the client's documentation, whose
// address is in a comment, and nothing is set that the documentation does not have. A row with a file
// says by which command the file is used. A row with a command has the line by which its vendor installs
// it, and a script in testdata, which `go test ./app/connect -update` writes. Best is a variable or a flag
// that goes before the user's own settings and leaves the rest of them as they are.
//
// The files are in the folder connect of the home folder. Tandem never touches the users' own
// configuration files.
package connect
