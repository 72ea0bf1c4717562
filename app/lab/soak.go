package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tandem/app/control"
	"tandem/app/figures"
	"tandem/models"
)

// A soak sends requests of all kinds to an endpoint, from several clients. Some clients leave
// before they are answered.
type soak struct {
	url    string
	home   string // the server's home folder
	kinds  []soakKind
	client *http.Client

	// Of the clients that leave, some do as soon as the request is written, some within patience,
	// and some in the middle of the answer.
	patience time.Duration

	answered, refused, left atomic.Int64

	mu    sync.Mutex
	wrong []error
}

const (
	soakClients = 8
	soakLeave   = 5 // every fifth client leaves
)

// newSoak returns a soak of the endpoint at url, whose server has the home folder.
func newSoak(url, home string, kinds []soakKind, patience time.Duration) *soak {
	return &soak{url: url, home: home, kinds: kinds, patience: patience,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: soakClients}}}
}

// send sends the requests with the numbers [from, to) and waits for them. The number determines a
// request's kind, and whether and how its client leaves.
func (s *soak) send(ctx context.Context, from, to int) error {
	next := atomic.Int64{}
	next.Store(int64(from))
	var clients sync.WaitGroup
	for range soakClients {
		clients.Go(func() {
			for i := int(next.Add(1)) - 1; i < to && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := s.ask(ctx, i); err != nil {
					s.mu.Lock()
					s.wrong = append(s.wrong,
						fmt.Errorf("request %d, %s: %w", i, s.kinds[i%len(s.kinds)].name, err))
					s.mu.Unlock()
				}
			}
		})
	}
	clients.Wait()
	s.client.CloseIdleConnections()
	return errors.Join(append(s.wrong, ctx.Err())...)
}

// errLeft is the cause of a request's end if its client left.
var errLeft = errors.New("left")

// ask sends one request and counts how it ended.
func (s *soak) ask(ctx context.Context, i int) error {
	kind, random := s.kinds[i%len(s.kinds)], rand.New(rand.NewPCG(9, uint64(i)))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leave := func() { cancel(errLeft) }
	most := int64(-1) // bytes of the answer before the client leaves
	if random.IntN(soakLeave) == 0 {
		switch random.IntN(3) {
		case 0:
			ctx = httptrace.WithClientTrace(ctx,
				&httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { leave() }})
		case 1:
			timer := time.AfterFunc(time.Duration(random.Int64N(int64(s.patience))), leave)
			defer timer.Stop()
		default:
			most = 1 + random.Int64N(1000)
		}
	}
	status, err := s.read(ctx, kind, most, leave)
	switch {
	case context.Cause(ctx) == errLeft:
		s.left.Add(1)
		return nil
	case err != nil:
		return err
	case status >= 400:
		s.refused.Add(1)
	default:
		s.answered.Add(1)
	}
	if status != kind.status {
		return fmt.Errorf("the status is %d, want %d", status, kind.status)
	}
	return nil
}

// read sends a request and reads the answer. If most is not negative, it calls leave after that
// many bytes.
func (s *soak) read(ctx context.Context, kind soakKind, most int64,
	leave func()) (status int, err error) {
	method := http.MethodPost
	if kind.body == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+kind.path,
		strings.NewReader(kind.body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if most >= 0 {
		_, err = io.CopyN(io.Discard, resp.Body, most)
		if err == nil {
			leave()
		} else if err == io.EOF { // it was shorter
			err = nil
		}
		return resp.StatusCode, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// idleCounts are what the server holds while no request is made.
type idleCounts struct {
	goroutines, files int // files is 0 where the system does not say
	queued            int // requests that wait for the engine
	inFlight          int // requests in flight according to the endpoint
	open              int // rows of the history without an end
}

// spareFiles are the files that the database may still open when several read concurrently, and
// then keeps. Three of its four connections for reading may open later, with two files each.
const spareFiles = 6

// exceeds reports whether there is more than before. Spare files do not count.
func (r idleCounts) exceeds(was idleCounts) bool {
	return r.goroutines > was.goroutines || r.files > was.files+spareFiles ||
		r.queued+r.inFlight+r.open > 0
}

// count reads the counts from /metrics and the open rows from the history.
func (s *soak) count(ctx context.Context) (r idleCounts, err error) {
	// so that each count opens as many connections
	lone := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/metrics", nil)
	if err != nil {
		return r, err
	}
	resp, err := lone.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		field := map[string]*int{
			"go_goroutines": &r.goroutines, "process_open_fds": &r.files,
			"tandem_queue_depth": &r.queued, "tandem_requests_in_flight": &r.inFlight,
		}[name]
		if field == nil {
			continue
		}
		if *field, err = strconv.Atoi(value); err != nil {
			return r, fmt.Errorf("/metrics: %s: %w", name, err)
		}
	}
	c := control.Dial(s.home)
	defer c.Close()
	running, err := control.Call(ctx, c, control.ListRuns,
		control.RunQuery{Finish: control.FinishRunning, Limit: 1000})
	r.open = len(running.Runs)
	return r, err
}

const (
	soakLook   = 50 * time.Millisecond
	soakSteady = 5 // counts that must agree
)

// awaitSteady waits until the counts have not changed for a while, and returns them.
func (s *soak) awaitSteady(ctx context.Context) (r idleCounts, err error) {
	for same := 0; same < soakSteady; {
		now, err := s.count(ctx)
		if err != nil {
			return r, err
		}
		if same++; now != r || now.inFlight+now.queued > 0 {
			r, same = now, 0
		}
		if err := sleep(ctx, soakLook); err != nil {
			return r, err
		}
	}
	return r, nil
}

// awaitCleared waits until the counts do not exceed those before, and returns them. When ctx ends
// it returns the last counts without an error.
func (s *soak) awaitCleared(ctx context.Context, was idleCounts) (r idleCounts, err error) {
	for {
		now, err := s.count(ctx)
		if ctx.Err() != nil {
			return r, nil
		}
		if err != nil {
			return r, err
		}
		if r = now; !r.exceeds(was) || sleep(ctx, soakLook) != nil {
			return r, nil
		}
	}
}

// The sizes of the bench.
const (
	soakRequests = 1000
	soakWarm     = 1000 // requests before, of the same mix
	soakPatience = 300 * time.Millisecond
	soakRest     = 20 * time.Second // until nothing may be left of them
)

// residentBar is how much the resident memory may grow, in percent.
var residentBar = figures.AtMost(2)

// soak serves the pocket model to clients of all kinds, and counts what they leave behind. The
// server is a separate process, so that nothing else is counted.
func (b *endpointBench) soak(ctx context.Context) (t figures.Table, err error) {
	p, err := serveApart(ctx, b.program, "--model", models.PocketID)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	n, warm := b.repeats(soakRequests, 60), b.repeats(soakWarm, 60)
	s := newSoak(p.url, filepath.Join(p.home, "home"), soakKinds(true), soakPatience)
	t = figures.Table{
		Title: fmt.Sprintf("%d requests of %d kinds by %d clients, one in %d leaves early, pocket model",
			n, len(s.kinds), soakClients, soakLeave),
		Columns: []string{"what", "at the start", "after a warm-up", "after them", "bar"},
	}
	start, err := s.awaitSteady(ctx)
	if err != nil {
		return t, err
	}
	if err := s.send(ctx, 0, warm); err != nil {
		return t, err
	}
	before, err := s.awaitSteady(ctx)
	if err != nil {
		return t, err
	}
	resident, err := residentBytes(p.cmd.Process.Pid)
	if err != nil {
		return t, err
	}
	s.answered.Store(0)
	s.refused.Store(0)
	s.left.Store(0)
	began := time.Now()
	if err := s.send(ctx, warm, warm+n); err != nil {
		return t, err
	}
	took := time.Since(began)
	rest, end := context.WithTimeout(ctx, soakRest)
	defer end()
	after, err := s.awaitCleared(rest, before)
	if err != nil {
		return t, err
	}
	if _, err := s.awaitSteady(ctx); err != nil { // as before the first reading
		return t, err
	}
	residentAfter, err := residentBytes(p.cmd.Process.Pid)
	if err != nil {
		return t, err
	}
	count := func(what string, of func(idleCounts) int, bar figures.Mark) {
		t.Rows = append(t.Rows, []any{what, of(start), of(before), of(after),
			b.judge("soak, "+what, bar, float64(of(after)))})
	}
	count("goroutines", func(r idleCounts) int { return r.goroutines },
		figures.AtMost(float64(before.goroutines)))
	count("open files", func(r idleCounts) int { return r.files },
		figures.AtMost(float64(before.files+spareFiles)))
	count("requests in the queue", func(r idleCounts) int { return r.queued }, figures.AtMost(0))
	count("requests in flight", func(r idleCounts) int { return r.inFlight }, figures.AtMost(0))
	count("rows of the history without an end", func(r idleCounts) int { return r.open }, figures.AtMost(0))
	growth := 100 * (residentAfter - resident) / resident
	t.Rows = append(t.Rows,
		[]any{"resident MB", nil, figures.Megabytes(int64(resident)), figures.Megabytes(int64(residentAfter)), nil},
		[]any{"resident memory, percent more", nil, nil, growth,
			b.judge("soak, percent more of resident memory", residentBar, growth)})
	t.Notes = append(t.Notes, "The bar for open files allows those that the database opens when several read at once, and keeps.",
		fmt.Sprintf("%d were answered, %d were refused as expected, and %d were left, in %.0f s.",
			s.answered.Load(), s.refused.Load(), s.left.Load(), took.Seconds()))
	err = p.Close()
	for line := range strings.Lines(p.stderr.String()) {
		if strings.Contains(line, "level=ERROR") {
			b.wrong = append(b.wrong, fmt.Errorf("soak, the log says: %s", strings.TrimSpace(line)))
		}
	}
	return t, err
}
