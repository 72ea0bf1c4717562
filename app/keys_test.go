package app

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tandem/app/control"
	"tandem/app/settings"
)

// TestKeys: a key is found while it is there, also after a restart, and is
// nowhere on disk.
func TestKeys(t *testing.T) {
	home := t.TempDir()
	var secret string
	t.Run("made", func(t *testing.T) {
		r := start(t, Options{Home: home}, "")
		c := r.client(t)
		made, err := c.AddKey(t.Context(), control.KeyRequest{Name: " Zed "})
		if err != nil || made.Key.Name != "Zed" ||
			!strings.HasPrefix(made.Secret, settings.KeyPrefix) || len(made.Secret) < 30 {
			t.Fatalf("%+v %v", made, err)
		}
		secret = made.Secret
		for _, bad := range []string{"", "  ", "Zed", "a\nb", strings.Repeat("x", 61)} {
			if _, err := c.AddKey(t.Context(),
				control.KeyRequest{Name: bad}); codeOf(err) != control.CodeInvalid ||
				paramOf(err) != "name" {
				t.Errorf("name %q: %v", bad, err)
			}
		}
		if name, ok := r.keys.FindKey(secret); !ok || name != "Zed" {
			t.Errorf("the key is %q, %t", name, ok)
		}
		if _, ok := r.keys.FindKey(strings.ToUpper(secret)); ok {
			t.Error("another key is found")
		}
	})
	files, err := filepath.Glob(filepath.Join(home, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s has the key", f)
		}
	}
	r := start(t, Options{Home: home}, "")
	if name, ok := r.keys.FindKey(secret); !ok || name != "Zed" {
		t.Errorf("after a restart the key is %q, %t", name, ok)
	}
	list, err := r.client(t).Keys(t.Context())
	if err != nil || len(list) != 1 || list[0].UsedAt.IsZero() {
		t.Fatalf("%+v %v", list, err)
	}
	if err := r.client(t).DeleteKey(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.keys.FindKey(secret); ok || r.keys.HasKeys() {
		t.Error("a deleted key is found")
	}
	if err := r.client(t).DeleteKey(t.Context(),
		list[0].ID); codeOf(err) != control.CodeKeyNotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

// TestKeysWhileUsed: keys go while others are looked up and their use is noted;
// the race detector watches.
func TestKeysWhileUsed(t *testing.T) {
	r := start(t, Options{}, "")
	var made [8]control.NewKey
	for i := range made {
		var err error
		if made[i], err = r.keys.AddKey(t.Context(),
			control.KeyRequest{Name: fmt.Sprint("key ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	var using sync.WaitGroup
	for _, k := range made {
		using.Go(func() { r.keys.FindKey(k.Secret) })
	}
	for _, k := range made {
		if err := r.keys.DeleteKey(t.Context(), k.Key.ID); err != nil {
			t.Error(err)
		}
	}
	using.Wait()
	if r.keys.HasKeys() {
		t.Error("a deleted key is back")
	}
}
