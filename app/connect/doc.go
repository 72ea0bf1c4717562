// Package connect tells editors and agents how to reach the endpoint: the text for each client, and
// a file with it in the home folder.
//
// The texts are made here and not in the page, for two reasons. Their files are compared with what
// would be written now, whether a page is open or not. And a program with a session can have no
// other text written than these.
//
// The files lie in the folder connect of the home folder. Tandem never touches the users' own
// configuration files.
package connect
