package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/home"
)

// The second start asks the first to show its window, and ends. After the first has ended, another
// start takes the lock again, even if the old socket is still there.
func TestSecondStartAsksTheFirst(t *testing.T) {
	for name, home := range map[string]string{"short": t.TempDir(),
		"long": filepath.Join(t.TempDir(), strings.Repeat("x", 120))} {
		t.Run(name, func(t *testing.T) {
			first, err := LockInstance(home, true)
			if err != nil {
				t.Fatal(err)
			}
			knocks, ended := make(chan bool, 10), make(chan error, 1)
			go func() {
				ended <- first.Serve(ControlHandler{Supervisor: New(Options{Home: home}),
					Show: func() { knocks <- true }})
			}()
			for range 3 {
				if _, err := LockInstance(home, true); !errors.Is(err, ErrRunning) {
					t.Fatalf("a second instance: %v", err)
				}
				<-knocks
			}
			if _, err := LockInstance(home, false); !errors.Is(err, ErrRunning) {
				t.Fatalf("a second instance at login: %v", err)
			}
			path := first.listener.Addr().String()
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if len(knocks) > 0 {
				t.Error("a start at login asked for the window")
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil { // a killed program leaves it
				t.Fatal(err)
			}
			again, err := LockInstance(home, true)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The menu bar comes first and writes into the home folder. The server then takes the folder, also
// where a person has made it, open to others.
func TestServerTakesHomeOfInstanceLock(t *testing.T) {
	made, absent := t.TempDir(), filepath.Join(t.TempDir(), "a", "home")
	if err := os.Chmod(made, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{made, absent} {
		lock, err := LockInstance(dir, true)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		h, err := home.Open(dir)
		if err != nil {
			t.Fatalf("the server refuses the folder: %v", err)
		}
		defer h.Close()
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, %v, want 0700", dir, info.Mode(), err)
		}
	}
}

// Another user may have made the folder, or a link, in the temporary folder first. Then no socket
// is opened, and nothing is made there.
func TestSocketIsNotOpenedInForeignFolder(t *testing.T) {
	home, elsewhere := filepath.Join(t.TempDir(), strings.Repeat("x", 120)), t.TempDir()
	dir := filepath.Dir(control.SocketPath(home))
	if err := os.Symlink(elsewhere, dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	if d, err := LockInstance(home, true); err == nil {
		t.Error("the socket was opened", d.Close())
	}
	if made, err := os.ReadDir(elsewhere); err != nil || len(made) > 0 {
		t.Errorf("%v %v", made, err)
	}
}
