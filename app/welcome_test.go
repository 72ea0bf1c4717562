package app

import "testing"

// The first steps are shown until a person has gone through them, also after a restart.
func TestWelcomeIsShownUntilItIsDone(t *testing.T) {
	home := t.TempDir()
	for i, done := range []bool{true, false, true} {
		a, err := Open(t.Context(), Options{Home: home})
		if err != nil {
			t.Fatal(err)
		}
		if want := i != 1; a.State().Welcome != want {
			t.Errorf("start %d: welcome %t, want %t", i, a.State().Welcome, want)
		}
		if err := a.Welcomed(t.Context(), done); err != nil {
			t.Fatal(err)
		}
		if a.State().Welcome == done {
			t.Errorf("start %d: welcome is %t after Welcomed(%t)", i, a.State().Welcome, done)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
