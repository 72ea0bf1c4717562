package supervise

import (
	"os"
	"path/filepath"
	"regexp"
)

// bundleVersion matches the version in a bundle's property list, in the XML form that build writes.
var bundleVersion = regexp.MustCompile(`<key>CFBundleShortVersionString</key>\s*<string>([0-9]+(?:\.[0-9]+)*)</string>`)

// versionOf reads a bundle's version, such as 1.2.3. It returns "" if the bundle does not say.
func versionOf(bundle string) string {
	text, err := os.ReadFile(filepath.Join(bundle, "Contents", "Info.plist"))
	if err != nil {
		return ""
	}
	if m := bundleVersion.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}
