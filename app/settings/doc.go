// Package settings knows the settings, and which source decides each of them.
//
// A setting is decided by a flag of serve, else by the environment, else by the user, else by its
// default. control.SettingsState names the source in force. A setting that a flag or the
// environment decides cannot be changed meanwhile. The user's value holds again when Tandem starts
// without them.
//
// A [Change] is checked first and stored last. It takes effect completely or not at all. This
// package keeps the values. Package app moves the endpoint and updates the other rooms.
//
// # Who owns what
//
//   - [Store] owns the settings in force. Its change lock is taken before every other lock of
//     Tandem: settings, then pool, then endpoint.
//   - [Models] has what is set for one model each.
//   - [Keys] owns the keys that programs call with. No key comes or goes during a change of
//     settings, so that the last key cannot go while a setting needs one.
//
// # Secrets
//
// Keys are random and stored as SHA-256. A slow hash protects secrets that can be guessed, and a
// random key cannot be. The hub's token is in a file and not in a row, so that copies of the
// database do not hold it.
package settings
