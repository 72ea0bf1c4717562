// Package modeltest has a model for tests of the routes, which needs no engine and no files, and scripts
// that say what an engine answers in tests of clients.
package modeltest
