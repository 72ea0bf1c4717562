// Package typecheck checks the types of every package for macOS on Apple silicon, on any machine.
package typecheck
