package bench

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
)

// A soak asks an endpoint for all kinds of things, by several clients, of which some
// leave before they are answered.
type soak struct {
	url    string
	home   string // of who serves
	kinds  []SoakKind
	client *http.Client

	// Of requests that leave some do as soon as theirs is written, some within
	// patience, and some amid the answer.
	patience time.Duration

	Answered, Refused, Left atomic.Int64

	mu    sync.Mutex
	wrong []error
}

const (
	soakClients = 8
	soakLeave   = 5 // one in so many requests leaves
)

func NewSoak(url, home string, kinds []SoakKind, patience time.Duration) *soak {
	return &soak{url: url, home: home, kinds: kinds, patience: patience, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: soakClients}}}
}

// Send sends the requests from one number to another. Which kind one is, and how it
// leaves, follows from its number.
func (s *soak) Send(ctx context.Context, from, to int) error {
	next := atomic.Int64{}
	next.Store(int64(from))
	var clients sync.WaitGroup
	for range soakClients {
		clients.Go(func() {
			for i := int(next.Add(1)) - 1; i < to && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := s.Ask(ctx, i); err != nil {
					s.mu.Lock()
					s.wrong = append(s.wrong, fmt.Errorf("request %d, %s: %w", i, s.kinds[i%len(s.kinds)].name, err))
					s.mu.Unlock()
				}
			}
		})
	}
	clients.Wait()
	s.client.CloseIdleConnections()
	return errors.Join(append(s.wrong, ctx.Err())...)
}

// errLeft is the cause of a request's end that was left.
var errLeft = errors.New("left")

// Ask sends one request.
func (s *soak) Ask(ctx context.Context, i int) error {
	kind, random := s.kinds[i%len(s.kinds)], rand.New(rand.NewPCG(9, uint64(i)))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leave := func() { cancel(errLeft) }
	most := int64(-1) // bytes of the answer
	if random.IntN(soakLeave) == 0 {
		switch random.IntN(3) {
		case 0:
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { leave() }})
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
		s.Left.Add(1)
		return nil
	case err != nil:
		return err
	case status >= 400:
		s.Refused.Add(1)
	default:
		s.Answered.Add(1)
	}
	if status != kind.status {
		return fmt.Errorf("answered by %d, not %d", status, kind.status)
	}
	return nil
}

// read sends a request and reads the answer, of which it leaves behind so many bytes,
// or whole if that is below 0.
func (s *soak) read(ctx context.Context, kind SoakKind, most int64, leave func()) (status int, err error) {
	method := http.MethodPost
	if kind.body == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+kind.path, strings.NewReader(kind.body))
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

// Remains are what is there while nobody asks for anything.
type Remains struct {
	Goroutines, Files int // files is 0 where the system does not tell
	Queued            int // requests that wait for the engine
	InFlight          int // requests that the endpoint knows of
	Open              int // rows of the history without an end
}

// SpareFiles are what the database may open yet when several read at once, and keeps: of
// its four connections for reading three, with two files each.
const SpareFiles = 6

// Over reports whether there is more than there was.
func (r Remains) Over(was Remains) bool {
	return r.Goroutines > was.Goroutines || r.Files > was.Files+SpareFiles || r.Queued+r.InFlight+r.Open > 0
}

// Look asks for what there is.
func (s *soak) Look(ctx context.Context) (r Remains, err error) {
	lone := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // as many connections each time
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
			"go_goroutines": &r.Goroutines, "process_open_fds": &r.Files, "tandem_queue_depth": &r.Queued, "tandem_requests_in_flight": &r.InFlight,
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
	running, err := c.Runs(ctx, control.RunQuery{Finish: control.FinishRunning, Limit: 1000})
	r.Open = len(running)
	return r, err
}

const (
	soakLook   = 50 * time.Millisecond
	soakSteady = 5 // looks that have to agree
)

// Settle waits until what is there has not changed for a while.
func (s *soak) Settle(ctx context.Context) (r Remains, err error) {
	for same := 0; same < soakSteady; {
		now, err := s.Look(ctx)
		if err != nil {
			return r, err
		}
		if same++; now != r || now.InFlight+now.Queued > 0 {
			r, same = now, 0
		}
		if err := nap(ctx, soakLook); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Clear waits until no more is there than was, and returns what is there all the same
// when ctx ends.
func (s *soak) Clear(ctx context.Context, was Remains) (r Remains, err error) {
	for {
		now, err := s.Look(ctx)
		if ctx.Err() != nil {
			return r, nil
		}
		if err != nil {
			return r, err
		}
		if r = now; !r.Over(was) || nap(ctx, soakLook) != nil {
			return r, nil
		}
	}
}

// How much is asked for in the bench.
const (
	soakRequests = 1000
	soakWarm     = 1000 // before, of the same mix
	soakPatience = 300 * time.Millisecond
	soakRest     = 20 * time.Second // until nothing may be left
)

// residentBar is what may be added to the resident memory, in percent.
var residentBar = atMost(2)

// soak serves the pocket model to clients of all kinds, and looks what they leave
// behind: in a process of its own, that nothing is counted but what serves.
func (b *EndpointBench) soak(ctx context.Context) (t BenchTable, err error) {
	p, err := serveApart(ctx, b.program)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	n, warm := b.several(soakRequests, 60), b.several(soakWarm, 60)
	s := NewSoak(p.url, filepath.Join(p.home, "home"), SoakKinds(true), soakPatience)
	t = BenchTable{
		Title:   fmt.Sprintf("%d requests of %d kinds by %d clients, of which one in %d leaves, pocket model", n, len(s.kinds), soakClients, soakLeave),
		Columns: []string{"what", "at the start", "after a warm-up", "after them", "bar"},
	}
	start, err := s.Settle(ctx)
	if err != nil {
		return t, err
	}
	if err := s.Send(ctx, 0, warm); err != nil {
		return t, err
	}
	before, err := s.Settle(ctx)
	if err != nil {
		return t, err
	}
	resident, err := residentBytes(p.cmd.Process.Pid)
	if err != nil {
		return t, err
	}
	s.Answered.Store(0)
	s.Refused.Store(0)
	s.Left.Store(0)
	began := time.Now()
	if err := s.Send(ctx, warm, warm+n); err != nil {
		return t, err
	}
	took := time.Since(began)
	rest, end := context.WithTimeout(ctx, soakRest)
	defer end()
	after, err := s.Clear(rest, before)
	if err != nil {
		return t, err
	}
	if _, err := s.Settle(ctx); err != nil { // as before the first look
		return t, err
	}
	residentAfter, err := residentBytes(p.cmd.Process.Pid)
	if err != nil {
		return t, err
	}
	count := func(what string, of func(Remains) int, bar mark) {
		t.Rows = append(t.Rows, []any{what, of(start), of(before), of(after), b.judge("soak, "+what, bar, float64(of(after)))})
	}
	count("goroutines", func(r Remains) int { return r.Goroutines }, atMost(float64(before.Goroutines)))
	count("open files", func(r Remains) int { return r.Files }, atMost(float64(before.Files+SpareFiles)))
	count("requests in the queue", func(r Remains) int { return r.Queued }, atMost(0))
	count("requests in flight", func(r Remains) int { return r.InFlight }, atMost(0))
	count("rows of the history without an end", func(r Remains) int { return r.Open }, atMost(0))
	growth := 100 * (residentAfter - resident) / resident
	t.Rows = append(t.Rows,
		[]any{"resident MB", nil, megabytes(int64(resident)), megabytes(int64(residentAfter)), nil},
		[]any{"resident memory, percent more", nil, nil, growth, b.judge("soak, percent more of resident memory", residentBar, growth)})
	t.Notes = append(t.Notes, "Open files may be as many more as the database opens when several read at once, and keeps.",
		fmt.Sprintf("%d were answered, %d refused as they were to be, %d left, in %.0f s.", s.Answered.Load(), s.Refused.Load(), s.Left.Load(), took.Seconds()))
	err = p.Close()
	for line := range strings.Lines(p.stderr.String()) {
		if strings.Contains(line, "level=ERROR") {
			b.wrong = append(b.wrong, fmt.Errorf("soak, the log says: %s", strings.TrimSpace(line)))
		}
	}
	return t, err
}
