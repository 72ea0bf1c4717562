package mac

import (
	"fmt"
	"strings"
	"testing"
)

// TestNotarizingStaplesBeforeItPacks expects the app to have its ticket before the disk image of it is
// submitted.
func TestNotarizingStaplesBeforeItPacks(t *testing.T) {
	first, second := notarizing("tandem", "Tandem.app", "Tandem-1.2.3")
	want := []string{
		"xcrun notarytool submit Tandem-1.2.3.zip --keychain-profile tandem --wait",
		"xcrun stapler staple Tandem.app",
		"xcrun notarytool submit Tandem-1.2.3.dmg --keychain-profile tandem --wait",
		"xcrun stapler staple Tandem-1.2.3.dmg",
		"spctl --assess --type execute --verbose=2 Tandem.app",
	}
	var got []string
	for _, args := range append(first, second...) {
		got = append(got, strings.Join(args, " "))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("notarizing runs\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
