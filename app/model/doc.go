// Package model defines a served model for the routes: the interfaces that they call, and the small
// types that these use.
//
// Package pool implements Model on the engine and on the files of a model. The routes know these
// interfaces alone, so their tests run without an engine, on package modeltest.
//
// A Model is held while a request uses it. It cannot be unloaded before Release. Its methods may be
// called by many goroutines at once. Their errors are *control.Error or *engine.Error where the
// client can do something about them.
//
// Most routes need only one of Model's two parts. A Tokenizer turns text into token ids and back. A
// Reader makes vectors and scores of texts. Both live as long as the Model.
package model
