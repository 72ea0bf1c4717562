package control

import (
	"os"
	"path/filepath"
	"runtime"
)

// Home returns the folder that holds everything Tandem keeps: TANDEM_HOME, or else the place that
// the system has for such data. It is absolute, because the place of the socket follows from it.
func Home(getenv func(string) string) string {
	dir := home(getenv)
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

func home(getenv func(string) string) string {
	if dir := getenv("TANDEM_HOME"); dir != "" {
		return dir
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(UserHome(getenv), "Library", "Application Support", "Tandem")
	}
	if dir := getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "tandem")
	}
	return filepath.Join(UserHome(getenv), ".local", "share", "tandem")
}

// StartsHidden reports whether the menu bar opens no window when it starts. It reads HiddenFile,
// because the server may not be there yet.
func StartsHidden(home string) bool {
	_, err := os.Stat(filepath.Join(home, HiddenFile))
	return err == nil
}

// HiddenFile is in the home folder while the setting start_hidden is on.
const HiddenFile = "start-hidden"

// UserHome returns the folder that holds everything a user keeps.
func UserHome(getenv func(string) string) string {
	if dir := getenv("HOME"); dir != "" {
		return dir
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return "."
	}
	return dir
}
