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

// A key is found until it is deleted, also after a restart. No file in the home folder has its
// text. A name that is empty, taken, too long or of several lines is refused.
func TestKeyIsFoundUntilDeletedAndIsNowhereOnDisk(t *testing.T) {
	home := t.TempDir()
	var secret string
	t.Run("made", func(t *testing.T) {
		r := start(t, Options{Home: home}, "")
		c := r.client(t)
		made, err := control.Call(t.Context(), c, control.AddKey, control.KeyRequest{Name: " Zed "})
		if err != nil || made.Key.Name != "Zed" ||
			!strings.HasPrefix(made.Secret, settings.KeyPrefix) || len(made.Secret) < 30 {
			t.Fatalf("the new key is %+v %v", made, err)
		}
		secret = made.Secret
		for _, bad := range []string{"", "  ", "Zed", "a\nb", strings.Repeat("x", 61)} {
			if _, err := control.Call(t.Context(), c, control.AddKey,
				control.KeyRequest{Name: bad}); codeOf(err) != control.CodeInvalid ||
				paramOf(err) != "name" {
				t.Errorf("name %q: %v, want it refused", bad, err)
			}
		}
		if key, ok := r.keys.FindKey(secret); !ok || key.Name != "Zed" {
			t.Errorf("the key has the key.Name %q, %t, want Zed", key.Name, ok)
		}
		if _, ok := r.keys.FindKey(strings.ToUpper(secret)); ok {
			t.Error("a key in capitals is found")
		}
	})
	files, err := filepath.Glob(filepath.Join(home, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(secret)) {
			t.Errorf("the file %s has the key", f)
		}
	}
	r := start(t, Options{Home: home}, "")
	if key, ok := r.keys.FindKey(secret); !ok || key.Name != "Zed" {
		t.Errorf("after a restart the key has the name %q, %t, want Zed", key.Name, ok)
	}
	list, err := control.Ask(t.Context(), r.client(t), control.ListKeys)
	if err != nil || len(list.Keys) != 1 || list.Keys[0].UsedAt.IsZero() {
		t.Fatalf("the list is %+v %v, want one key that was used", list, err)
	}
	if _, err := control.Call(t.Context(), r.client(t), control.DeleteKey,
		list.Keys[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.keys.FindKey(secret); ok || r.keys.HasKeys() {
		t.Error("a deleted key is found")
	}
	if _, err := control.Call(t.Context(), r.client(t), control.DeleteKey,
		list.Keys[0].ID); codeOf(err) != control.CodeKeyNotFound {
		t.Errorf("deleted a second time: %v", err)
	}
}

// Keys are deleted while other goroutines look them up and note their use. No key comes back.
// The race detector checks the locks.
func TestKeyDeletedWhileItIsUsedStaysDeleted(t *testing.T) {
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
		t.Error("a deleted key has come back")
	}
}
