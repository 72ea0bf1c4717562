package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"sync"
)

// A witness stands between a client and a server and keeps the server's refusals. It serves clients
// that report a refusal in their own words.
type witness struct {
	url    string // as the server's
	server *http.Server
	serves sync.WaitGroup

	mu      sync.Mutex
	refused []string // status and message of each refusal
}

// newWitness starts to listen in front of a server. The caller closes it.
func newWitness(server string) (*witness, error) {
	to, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &witness{url: "http://" + l.Addr().String()}
	w.server = &http.Server{Handler: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: w.look}}
	w.serves.Go(func() { w.server.Serve(l) })
	return w, nil
}

// look keeps a refusal and passes it on unchanged.
func (w *witness) look(resp *http.Response) error {
	if resp.StatusCode < http.StatusBadRequest {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var told struct{ Error struct{ Message string } } // OpenAI's form, and Anthropic's
	if json.Unmarshal(body, &told) != nil || told.Error.Message == "" {
		told.Error.Message = string(body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = append(w.refused, fmt.Sprintf("%d %s", resp.StatusCode, told.Error.Message))
	return nil
}

// tooLong matches what a server with a scanty context says about a prompt, in OpenAI's words and in
// Anthropic's.
var tooLong = regexp.MustCompile(`^400 .*(maximum context length is ` + scanty +
	` tokens\b.* [0-9]{5,} tokens in the prompt|: [0-9]{5,} tokens > ` + scanty + ` maximum)`)

// length returns the refusal of a prompt for its length.
func (w *witness) length() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.refused {
		if tooLong.MatchString(r) {
			return r, nil
		}
	}
	return "", fmt.Errorf("no prompt was refused for its length with both numbers: %q", w.refused)
}

func (w *witness) close() {
	w.server.Close()
	w.serves.Wait()
}

// between puts a witness between a server and the client that reads a file.
func between(server, file string) (*witness, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(text, []byte(server)) {
		return nil, fmt.Errorf("%s does not name %s:\n%s", file, server, text)
	}
	w, err := newWitness(server)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte(server), []byte(w.url)),
		0o600); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}
