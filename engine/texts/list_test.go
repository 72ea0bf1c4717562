package texts

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A file that has not changed is not read again, and its size and counts are known while another
// file is read or written. One that has changed is read.
func TestListReadsOnlyChangedFiles(t *testing.T) {
	s := NewStore(Options{Dir: t.TempDir()})
	add := func(client string, tokens ...int32) {
		use := s.Open(Owner{Client: client}, Origin{})
		use.Add(Text{Tokens: tokens})
		use.Close()
	}
	counts := func() map[string]int {
		t.Helper()
		kept, err := s.List()
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]int{}
		for _, k := range kept {
			of[k.Client] = k.Tokens
		}
		return of
	}
	add("1", 1, 2, 3)
	add("2", 1, 2, 3, 4)
	if got := counts(); got["1"] != 3 || got["2"] != 4 {
		t.Fatalf("%v", got)
	}
	s.files.Lock() // as a long load does
	done := make(chan map[string]int, 1)
	go func() { done <- counts() }()
	select {
	case got := <-done:
		if got["1"] != 3 || got["2"] != 4 {
			t.Errorf("during a load: %v", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for a load")
	}
	s.files.Unlock()
	add("1", 5, 6, 7, 8)
	if got := counts(); got["1"] != 7 || got["2"] != 4 {
		t.Errorf("after another text: %v", got)
	}
	if err := os.Remove(filepath.Join(s.o.Dir, fileName(Owner{Client: "2"}))); err != nil {
		t.Fatal(err)
	}
	if got := counts(); got["1"] != 7 || len(got) != 1 {
		t.Errorf("after a file was removed: %v", got)
	}
}
