// Package home holds the home folder and the figures of the machine.
//
// One process at a time serves a home folder, and holds its lock. The kernel drops the lock when
// the process ends, however it ends. Files in the folder may hold secrets, so only their owner may
// read them. A file is written completely or not at all.
package home
