// Package settings knows what is set, and which of several sayings counts.
//
// A setting is decided by a flag of serve, else by the environment, else by what a person set, else
// by its default. control.SettingsState names the one that counts. What a flag or the environment
// decides cannot be set meanwhile. What was set before holds again when Tandem starts without them.
//
// A [Change] is checked first and stored last. It holds completely or not at all. This package
// keeps the values; package app moves the endpoint and has the other rooms follow.
//
// # Who owns what
//
//   - [Store] owns the settings in force. Its change lock is taken before every other lock of
//     Tandem: settings, then pool, then endpoint.
//   - [Keys] owns the keys that programs call with. No key comes or goes during a change of
//     settings, so that the last key cannot go while a setting needs one.
//
// # Secrets
//
// Keys are random and kept as SHA-256. A slow hash would protect what can be guessed, and a random
// key cannot be guessed. The hub's token is a file and no row, so that copies of the database do
// not hold it.
package settings
