package api_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tandem/app/roomtest"
	"tandem/app/wire"
)

// packers pack a body, by the Content-Encoding that says so.
var packers = map[string]func(io.Writer) (io.WriteCloser, error){
	"gzip":      func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, 1) },
	"X-Gzip":    func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, 9) },
	"deflate":   func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriterLevel(w, 1) },
	" Deflate ": func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 9) }, // without zlib's frame
	"zstd":      func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	"ZSTD": func(w io.Writer) (io.WriteCloser, error) {
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithSingleSegment(true))
	},
}

// pack returns the parts of a body, packed.
func pack(t *testing.T, encoding string, parts ...io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := packers[encoding](&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, io.MultiReader(parts...)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func postPacked(s http.Handler, path, encoding string, body []byte, chunked bool) *httptest.ResponseRecorder {
	r := roomtest.Request(path, string(body))
	r.Header.Set("Content-Encoding", encoding)
	if chunked {
		r.ContentLength = -1
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestPackedBodyIsUnpacked(t *testing.T) {
	bodies := map[string]string{
		"/v1/responses":             `{"model":"tandem","input":"x"}`,
		"/v1/chat/completions":      `{"model":"tandem","messages":[{"role":"user","content":"x"}]}`,
		"/v1/messages":              `{"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`,
		"/v1/messages/count_tokens": `{"model":"tandem","messages":[{"role":"user","content":"x"}]}`,
		"/api/chat":                 `{"model":"tandem","stream":false,"messages":[{"role":"user","content":"x"}]}`,
		"/api/generate":             `{"model":"tandem"}`, // loads the model
		"/api/show":                 `{"model":"tandem"}`,
		"/v1/completions":           `{"model":"tandem","prompt":"x","user":"` + strings.Repeat("y", 4*wire.SmallBody) + `"}`,
	}
	for encoding := range packers {
		for path, body := range bodies {
			for _, chunked := range []bool{false, true} {
				s := serve(roomtest.NewBackend())
				w := postPacked(s, path, encoding, pack(t, encoding, strings.NewReader(body)), chunked)
				if w.Code != http.StatusOK || s.API.BytesTaken() != 0 {
					t.Errorf("%s %s: %d %s, %d bytes taken", path, encoding, w.Code, w.Body, s.API.BytesTaken())
				}
				if path == "/api/generate" && !strings.Contains(w.Body.String(), `"done_reason":"load"`) {
					t.Errorf("%s does not load the model: %s", encoding, w.Body)
				}
			}
		}
	}
}

func TestBadPackedBodyIsRefused(t *testing.T) {
	const path, body = "/v1/completions", `{"model":"tandem","prompt":"x"}`
	for _, encoding := range []string{"br", "compress", "gzip, zstd", "gzip, gzip"} {
		if w := postPacked(serve(roomtest.NewBackend()), path, encoding, []byte(body), false); w.Code != 415 {
			t.Errorf("%s: %d %s", encoding, w.Code, w.Body)
		}
	}
	for encoding := range packers {
		whole := pack(t, encoding, strings.NewReader(body))
		for why, b := range map[string][]byte{"unpacked": []byte(body), "cut": whole[:len(whole)-6],
			"empty": nil, "a broken body": pack(t, encoding, strings.NewReader(body[1:]))} {
			s := serve(roomtest.NewBackend())
			if w := postPacked(s, path, encoding, b, false); w.Code != 400 || s.API.BytesTaken() != 0 {
				t.Errorf("%s, %s: %d %s", encoding, why, w.Code, w.Body)
			}
		}
	}
}

// A zeros has no end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestPackedBombIsRefused: MaxBody counts what was unpacked, and so do the bytes of a client.
func TestPackedBombIsRefused(t *testing.T) {
	const path = "/v1/completions"
	for _, encoding := range []string{"gzip", "deflate", "zstd"} {
		bomb := pack(t, encoding, io.LimitReader(zeros{}, 1<<28))
		s := serve(roomtest.NewBackend())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := postPacked(s, path, encoding, bomb, false)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; w.Code != 413 || n > 6*wire.MaxBody || s.API.BytesTaken() != 0 {
			t.Errorf("%s of %d bytes: %d %s, with %d bytes of memory", encoding, len(bomb), w.Code, w.Body, n)
		}
		most := pack(t, encoding, strings.NewReader(`{"model":"tandem","prompt":"`),
			strings.NewReader(strings.Repeat("x", wire.MaxBody-30)), strings.NewReader(`"}`))
		if w := postPacked(s, path, encoding, most, true); w.Code != 400 ||
			!strings.Contains(w.Body.String(), "context length") { // it was read
			t.Errorf("%s of MaxBody: %d %s", encoding, w.Code, w.Body)
		}
		held := wire.Reservation{Client: wire.ClientOf(roomtest.Request(path, ""))}
		if err := s.API.Grow(&held, wire.LargeBytes-wire.MaxBody/2); err != nil {
			t.Fatal(err)
		}
		if w := postPacked(s, path, encoding, bomb, false); w.Code != 503 {
			t.Errorf("%s beside a large body: %d %s", encoding, w.Code, w.Body)
		}
		held.Release()
		if s.API.BytesTaken() != 0 {
			t.Errorf("%s: %d bytes are still taken", encoding, s.API.BytesTaken())
		}
	}
	wide := pack(t, "zstd", strings.NewReader("")) // a frame of a window of 128 MiB: magic, descriptor, window
	wide = append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3}, wide...)
	if w := postPacked(serve(roomtest.NewBackend()), path, "zstd", wide, false); w.Code != 400 {
		t.Errorf("a window of 128 MiB: %d %s", w.Code, w.Body)
	}
}
