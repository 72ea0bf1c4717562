package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxRedirects  = 10
	maxInfoBytes  = 32 << 20
	infoAttempts  = 3 // a person waits for the first answer
	fileAttempts  = 8 // in a row without a byte gained
	maxBackoff    = 30 * time.Second
	maxRetryAfter = 5 * time.Minute
)

// errStalled is the cause of a request that ended because nothing arrived for too long.
var errStalled = errors.New("nothing arrived for a while")

// A client talks to one hub about one model.
type client struct {
	http     http.Client
	endpoint *url.URL
	token    string
	stall    time.Duration
	name     string // for errors
	id       string
	log      *slog.Logger
}

// newClient returns a client for a model. Error: [BadOption].
func newClient(name, id string, opts Options) (client, error) {
	endpoint, err := url.Parse(cmp.Or(opts.Endpoint, DefaultEndpoint))
	if err != nil || endpoint.Host == "" || endpoint.User != nil ||
		endpoint.Scheme != "https" && endpoint.Scheme != "http" {
		return client{}, errorf(BadOption, name, "%q is not the address of a hub: it looks like %s",
			opts.Endpoint, DefaultEndpoint)
	}
	c := client{
		endpoint: endpoint, token: opts.Token, stall: cmp.Or(opts.Stall, defaultStall),
		name: name, id: id, log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)),
	}
	if opts.Client != nil {
		c.http = *opts.Client
	}
	c.http.Timeout = 0
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// A transient error is worth another attempt.
type transient struct {
	err   error
	after time.Duration // the shortest pause, as the hub asked
}

func (t *transient) Error() string { return t.err.Error() }
func (t *transient) Unwrap() error { return t.err }

// retry calls f until it succeeds, fails for good, or fails the given number of times in a row. An
// attempt that gained something (f returns true) starts the count again. waiting is called for each
// pause.
func (c *client) retry(ctx context.Context, attempts int, waiting func(time.Duration, error),
	f func() (gained bool, err error)) error {
	for n := 1; ; n++ {
		gained, err := f()
		t, ok := errors.AsType[*transient](err)
		if !ok {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if gained {
			n = 1
		}
		if n >= attempts {
			c.log.Info("giving up", "model", c.id, "error", t.err, "cause", errors.Unwrap(t.err))
			return t.err
		}
		// Doubling from one second, less up to a quarter at random, so that parallel files do not
		// retry together.
		d := min(time.Second<<(n-1), maxBackoff)
		d = max(d-time.Duration(rand.Int64N(int64(d)/4)), t.after)
		c.log.Info("trying again", "model", c.id, "in", d, "after", t.err, "cause",
			errors.Unwrap(t.err))
		waiting(d, t.err)
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}

// A reply is an HTTP response, with what the hub said about the file in redirects.
type reply struct {
	*http.Response
	commit string
	etag   string // as a blob is named
	size   int64  // -1 if not known
}

// do sends a request and follows redirects itself: each hop is a new request, and only the hub gets
// the token. A HEAD stops at a redirect to another host, because the answer before it describes the
// file. The caller closes the body. Reading it fails with errStalled if nothing arrives for a
// while.
func (c *client) do(ctx context.Context, method, address string,
	header http.Header) (*reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := time.AfterFunc(c.stall, func() { cancel(errStalled) })
	r := &reply{size: -1}
	for range maxRedirects {
		req, err := http.NewRequestWithContext(ctx, method, address, nil)
		if err != nil {
			break
		}
		if header != nil {
			req.Header = header.Clone()
		}
		req.Header.Set("User-Agent", "tandem")
		req.Header.Set("Accept-Encoding", "identity") // sizes and hashes describe the content
		if c.token != "" && c.isHub(req.URL) {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		resp, err := c.http.Do(req)
		if err != nil {
			watch.Stop()
			err = c.networkError(ctx, err)
			cancel(nil)
			return nil, err
		}
		watch.Reset(c.stall)
		r.Response = resp
		r.note(c.isHub(req.URL))
		location, err := resp.Location()
		redirect := resp.StatusCode/100 == 3 && err == nil
		if redirect {
			err = c.checkRedirect(req.URL, location)
		}
		if !redirect || err == nil && method == http.MethodHead && !c.isHub(location) {
			resp.Body = &body{resp.Body, c, ctx, cancel, watch}
			return r, nil
		}
		resp.Body.Close()
		if err != nil {
			watch.Stop()
			cancel(nil)
			return nil, err
		}
		address = location.String()
	}
	watch.Stop()
	cancel(nil)
	return nil, errorf(BadReply, c.name, "%s redirects in circles: check the hub endpoint",
		c.endpoint)
}

// checkRedirect refuses an address that is not http or https. It also refuses an http address after
// an https one, because anybody on the way could read and change what is sent.
func (c *client) checkRedirect(from, to *url.URL) error {
	switch {
	case to.Scheme != "https" && to.Scheme != "http" || to.Hostname() == "":
		return errorf(BadReply, c.name, "%s redirects to %q, which is no address on the web: "+
			"check the hub endpoint", from.Host, clip(to.Redacted()))
	case from.Scheme == "https" && to.Scheme == "http":
		return errorf(BadReply, c.name, "%s redirects from https to http, at %s, where others can "+
			"read and change what is sent: check the hub endpoint", from.Host, clip(to.Host))
	}
	return nil
}

// clip shortens what a server sent for a message.
func clip(s string) string {
	const limit = 100 // bytes
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// isHub reports whether an address may see the token: the endpoint's host, by its scheme or by
// https.
func (c *client) isHub(u *url.URL) bool {
	return strings.EqualFold(u.Host, c.endpoint.Host) &&
		(u.Scheme == c.endpoint.Scheme || u.Scheme == "https")
}

// note records what one hop says about the file. The first answer wins: the hub comes before its
// storage.
func (r *reply) note(hub bool) {
	h := r.Header
	if r.commit == "" {
		r.commit = h.Get("X-Repo-Commit")
	}
	if r.etag == "" {
		r.etag = trimETag(h.Get("X-Linked-Etag"))
	}
	if n, err := strconv.ParseInt(h.Get("X-Linked-Size"), 10, 64); err == nil && n >= 0 &&
		r.size < 0 {
		r.size = n
	}
	// If no linked file is named, the hub's own answer is about the file itself.
	if hub && r.StatusCode/100 == 2 {
		if r.etag == "" {
			r.etag = trimETag(h.Get("ETag"))
		}
		if r.size < 0 && r.StatusCode == http.StatusOK {
			r.size = r.ContentLength
		}
	}
}

func trimETag(s string) string { return strings.Trim(strings.TrimPrefix(s, "W/"), `"`) }

// A body restarts the watch whenever bytes arrive.
type body struct {
	io.ReadCloser
	c      *client
	ctx    context.Context
	cancel context.CancelCauseFunc
	watch  *time.Timer
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.Reset(b.c.stall)
	}
	if err != nil && err != io.EOF {
		err = b.c.networkError(b.ctx, err)
	}
	return n, err
}

func (b *body) Close() error {
	b.watch.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}

// networkError returns the error of a request that got no answer or lost it. It is transient unless
// the caller cancelled.
func (c *client) networkError(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == errStalled:
		return &transient{err: errorf(Unavailable, c.name, "nothing arrived from %s for %s: "+
			"check the internet connection and pull again, what has arrived is kept (%w)",
			c.endpoint.Host, c.stall, errStalled)}
	case cause != nil:
		return cause
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address, which may be signed
	}
	if p, ok := errors.AsType[*net.OpError](err); ok && p.Op == "proxyconnect" {
		return &transient{err: &Error{Code: Offline, Err: err,
			Message: fmt.Sprintf("the proxy on the way to the hub at %s cannot be reached: "+
				"check the proxy in Settings, or in the environment", c.endpoint.Host)}}
	}
	// The message names neither the model nor the cause. The cause helps users little, and retry
	// logs it.
	return &transient{err: &Error{Code: Offline, Err: err,
		Message: fmt.Sprintf("the hub at %s cannot be reached: "+
			"check the internet connection, or the hub in Settings", c.endpoint.Host)}}
}

// statusError returns the error of an answer that is not a success. what names the file, if the
// request was for one.
func (c *client) statusError(r *reply, what string) error {
	page := c.endpoint.JoinPath(c.id).String()
	if !c.isHub(r.Request.URL) && r.StatusCode/100 == 4 &&
		r.StatusCode != http.StatusTooManyRequests {
		// The signed address at the hub's storage has expired. The next attempt gets a new one.
		return &transient{err: errorf(Unavailable, c.name,
			"the hub's storage refused %s (%s): pull again later", what, r.Status)}
	}
	code := r.Header.Get("X-Error-Code")
	switch s := r.StatusCode; {
	case s == http.StatusNotFound, s == http.StatusGone,
		s == http.StatusUnauthorized && (code == "RepoNotFound" || code == "RevisionNotFound"):
		switch {
		case code == "RevisionNotFound":
			return errorf(NotFound, c.name,
				"the model has no such revision: see %s/tree/main for its branches", page)
		case what != "":
			return errorf(NotFound, c.name,
				"the hub lists %s but does not have it: try another revision", what)
		}
		return errorf(NotFound, c.name, "there is no such model at %s: "+
			"check the spelling; if it is private, set a token that may read it", c.endpoint)
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		if c.token == "" {
			return errorf(Gated, c.name, "the model asks for permission: "+
				"open %s, accept its terms, and set a token (in the settings, or as HF_TOKEN)",
				page)
		}
		return errorf(Gated, c.name, "the token may not read the model: "+
			"open %s, accept its terms with the token's account, "+
			"or set another token (in the settings, or as HF_TOKEN)", page)
	case s == http.StatusTooManyRequests:
		after := retryAfter(r.Header.Get("Retry-After"))
		if after > maxRetryAfter {
			return errorf(RateLimited, c.name, "the hub allows no more requests for %s: "+
				"pull again then, a token (HF_TOKEN) allows more", after.Round(time.Second))
		}
		return &transient{errorf(RateLimited, c.name, "the hub allows no more requests for now: "+
			"pull again in some minutes, a token (HF_TOKEN) allows more"), after}
	case s == http.StatusRequestTimeout || s >= 500:
		after := min(retryAfter(r.Header.Get("Retry-After")), maxRetryAfter)
		return &transient{errorf(Unavailable, c.name,
			"%s answers %q: pull again later, what has arrived is kept",
			r.Request.URL.Host, r.Status), after}
	}
	return errorf(BadReply, c.name, "%s answers %q: check the hub endpoint", r.Request.URL.Host,
		r.Status)
}

// retryAfter parses the header of that name, seconds or a date. It returns 0 if the header is
// missing.
func retryAfter(s string) time.Duration {
	if n, err := strconv.ParseInt(s, 10, 32); err == nil {
		return time.Duration(max(0, n)) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// info asks for the commit and the files of a revision. Sizes come with the query "?blobs=true".
func (c *client) info(ctx context.Context, revision, query string,
	waiting func(time.Duration, error)) (info, error) {
	address := c.endpoint.JoinPath("api", "models", c.id, "revision").String() +
		"/" + url.PathEscape(revision) + query
	var in info
	err := c.retry(ctx, infoAttempts, waiting, func() (bool, error) {
		r, err := c.do(ctx, http.MethodGet, address, nil)
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return false, c.statusError(r, "")
		}
		data, err := io.ReadAll(io.LimitReader(r.Body, maxInfoBytes+1))
		if err != nil {
			return false, err
		}
		in, err = parseInfo(c.name, data)
		return false, err
	})
	return in, err
}

// fileURL returns the address of a file at a commit.
func (c *client) fileURL(commit, name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return c.endpoint.JoinPath(c.id, "resolve", commit).String() + "/" + strings.Join(parts, "/")
}

// head asks for the hash and the size of a file.
func (c *client) head(ctx context.Context, commit, name string,
	waiting func(time.Duration, error)) (etag string, size int64, err error) {
	err = c.retry(ctx, fileAttempts, waiting, func() (bool, error) {
		r, err := c.do(ctx, http.MethodHead, c.fileURL(commit, name), nil)
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		switch {
		case r.StatusCode >= 400:
			return false, c.statusError(r, name)
		case r.commit != "" && r.commit != commit:
			return false, errorf(BadReply, c.name,
				"the hub answers with commit %q where %s was asked for: pull again", r.commit,
				commit)
		case newHash(r.etag, 0) == nil:
			return false, errorf(BadReply, c.name, "the hub gives no hash for %s (%q), "+
				"so it could not be checked: choose another hub endpoint", name, r.etag)
		case r.size < 0:
			return false, errorf(BadReply, c.name,
				"the hub gives no size for %s: choose another hub endpoint", name)
		}
		if err := checkSize(c.name, name, r.size); err != nil {
			return false, err
		}
		etag, size = r.etag, r.size
		return false, nil
	})
	return etag, size, err
}

// contentRange parses the start and the whole size out of "bytes 5-9/10". The size of "bytes 5-9/*"
// is -1.
func contentRange(s string) (start, size int64, err error) {
	s, ok := strings.CutPrefix(s, "bytes ")
	span, whole, ok2 := strings.Cut(s, "/")
	first, _, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, fmt.Errorf("Content-Range %q", s)
	}
	if start, err = strconv.ParseInt(first, 10, 64); err != nil {
		return 0, 0, err
	}
	if whole == "*" {
		return start, -1, nil
	}
	size, err = strconv.ParseInt(whole, 10, 64)
	return start, size, err
}
