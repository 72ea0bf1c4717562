// Package enginetest holds the fakes and conformance suites of the engine's
// interfaces: every implementation calls the same suite, and tests above the
// engine run on models whose answers are known by construction.
package enginetest
