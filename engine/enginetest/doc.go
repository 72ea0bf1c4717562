// Package enginetest holds the fakes and conformance suites of the engine's interfaces. Every
// implementation of an interface calls the same suite. Tests above the engine run on models
// whose answers are known by construction.
package enginetest
