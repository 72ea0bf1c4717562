package disk

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// A closing value tells that it was closed.
type closing struct{ closed bool }

func (c *closing) Close() error { c.closed = true; return nil }

func TestSilentFolderCostsOneWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := make(chan struct{})
		opened := &closing{}
		slow := func() (io.Closer, error) { <-back; return opened, nil }
		quick := func() (int, error) { return 5, nil }
		start := time.Now()
		_, err := await("/nas/model", slow)
		if e, ok := errors.AsType[*SilentError](err); !ok || e.Folder != "/nas/model" {
			t.Fatalf("a call that does not come back gives %v", err)
		}
		if d := time.Since(start); d != Patience {
			t.Errorf("it took %v, want %v", d, Patience)
		}
		for folder, silent := range map[string]bool{"/nas/model": true, "/nas/model/drafter": true,
			"/nas/model2": false, "/nas": false, "/": false} {
			if _, err := await(folder, quick); (err != nil) != silent {
				t.Errorf("meanwhile %s gives %v", folder, err)
			}
		}
		if d := time.Since(start); d != Patience {
			t.Errorf("later calls waited too, %v in all", d)
		}
		close(back)
		synctest.Wait()
		if n, err := await("/nas/model", quick); n != 5 || err != nil {
			t.Errorf("a folder that answers again gives %d, %v", n, err)
		}
		if !opened.closed {
			t.Error("what a late call opened stays open")
		}
	})
}
