package hub

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressIsSteadyAndComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := model()
		h := newFakeHub(t, files)
		h.hook = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Host != "cdn.test" || !strings.HasSuffix(r.URL.Path, shard) {
				return false
			}
			w.Header().Set("Content-Length", "700000")
			for piece := range slices.Chunk(files[shard], 1000) {
				time.Sleep(20 * time.Millisecond) // 50,000 bytes a second
				w.Write(piece)
				http.NewResponseController(w).Flush()
			}
			return true
		}
		var all []Progress
		var times []time.Time
		if _, err := Pull(t.Context(), "org/name", h.options(t.TempDir()), func(p Progress) {
			all, times = append(all, p), append(times, time.Now())
		}); err != nil {
			t.Fatal(err)
		}
		var total int64
		for _, name := range fetched {
			total += int64(len(files[name]))
		}
		last := all[len(all)-1]
		if last.Done != total || last.Total != total {
			t.Errorf("the last report is %+v, want %d bytes", last, total)
		}
		for i := 1; i < len(all)-1; i++ { // the last comes at the end, whenever that is
			if d := times[i].Sub(times[i-1]); d < 100*time.Millisecond {
				t.Fatalf("reports %s apart", d)
			}
			if all[i].Done < all[i-1].Done {
				t.Errorf("progress went back from %d to %d", all[i-1].Done, all[i].Done)
			}
		}
		// After a window only the steady file moves.
		i := slices.IndexFunc(times,
			func(at time.Time) bool { return at.Sub(times[0]) >= 12*time.Second })
		if mid := all[i]; mid.Rate < 45_000 || mid.Rate > 55_000 {
			t.Errorf("after 12 s the rate is %.0f, want 50000", mid.Rate)
		}
	})
}
