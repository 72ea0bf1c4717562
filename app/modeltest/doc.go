// Package modeltest has a model for tests of the routes. It needs no engine and no files.
package modeltest
