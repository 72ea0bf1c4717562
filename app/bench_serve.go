package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"tandem/engine"
)

// startup measures how long `tandem serve` takes on the pocket model.
type startup struct{ program string }

func openStart(context.Context, BenchOptions) (bench, error) {
	program, err := os.Executable()
	return &startup{program}, err
}

func (s *startup) header() benchHeader { return newBenchHeader() }
func (s *startup) close() error        { return nil }

func (s *startup) measure(ctx context.Context) (map[string]float64, error) {
	began := time.Now()
	p, err := serveApart(ctx, s.program)
	if err != nil {
		return nil, err
	}
	defer p.close()
	for {
		resp, err := http.Get(p.url + "/health")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return map[string]float64{"ready_ms": since(began)}, p.close()
			}
		}
		if time.Since(began) > time.Minute {
			return nil, errors.New("the endpoint did not become ready within a minute")
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// A served process is a `tandem serve` on a home folder of its own.
type served struct {
	url    string
	home   string
	cmd    *exec.Cmd
	stderr bytes.Buffer // shown if it fails
}

func serveApart(ctx context.Context, program string, flags ...string) (*served, error) {
	home, err := os.MkdirTemp("", "tandem-bench-")
	if err != nil {
		return nil, err
	}
	p := &served{home: home}
	p.cmd = exec.CommandContext(ctx, program, append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)...)
	p.cmd.Env = append(os.Environ(), "TANDEM_HOME="+filepath.Join(home, "home"))
	p.cmd.Stderr = &p.stderr
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(home))
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return nil, errors.Join(errors.New("tandem serve printed no address"), p.close())
	}
	p.url = lines.Text()
	go io.Copy(io.Discard, out)
	return p, nil
}

func (p *served) close() error {
	if p.cmd == nil {
		return nil
	}
	p.cmd.Process.Signal(os.Interrupt)
	err := p.cmd.Wait()
	if err != nil {
		err = fmt.Errorf("tandem serve: %w\n%s", err, p.stderr.Bytes())
	}
	p.cmd = nil
	return errors.Join(err, os.RemoveAll(p.home))
}

// memory measures what 200 requests leave behind.
type memory struct{ *plain }

func openMemory(ctx context.Context, o BenchOptions) (bench, error) {
	b, err := openPlain(ctx, o)
	if err != nil {
		return nil, err
	}
	return memory{b.(*plain)}, nil
}

func (m memory) measure(ctx context.Context) (map[string]float64, error) {
	const requests = 200
	once := func(i int) error {
		_, _, err := m.generate(ctx, 16+i*7%200, 8)
		return err
	}
	// As many again first: what the process took for its first, longer
	// requests goes back to the system little by little.
	for i := range requests {
		if err := once(i); err != nil {
			return nil, err
		}
	}
	held := func() (float64, float64, error) {
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		rss, err := residentBytes()
		return float64(m.thread.Memory().Active) + float64(stats.HeapAlloc), rss, err
	}
	before, rss, err := held()
	if err != nil {
		return nil, err
	}
	for i := range requests {
		if err := once(i); err != nil {
			return nil, err
		}
	}
	after, rssAfter, err := held()
	if err != nil {
		return nil, err
	}
	return map[string]float64{
		"held_bytes": before, "held_growth_percent": 100 * (after - before) / before,
		"resident_bytes": rss, "resident_growth_percent": 100 * (rssAfter - rss) / rss,
	}, nil
}

// residentBytes asks the system how much memory this process occupies.
func residentBytes() (float64, error) {
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(os.Getpid())).Output()
	if err != nil {
		return 0, fmt.Errorf("ps: %w", err)
	}
	kib, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return kib * 1024, err
}

// endpoint compares a streamed token over HTTP with one from the engine.
type endpoint struct {
	*plain
	served *served
}

func openEndpoint(ctx context.Context, o BenchOptions) (bench, error) {
	b, err := openPlain(ctx, o)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	var flags []string
	if o.Model != "" {
		flags = []string{"--model", o.Model}
	}
	p, err := serveApart(ctx, program, flags...)
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	e := &endpoint{b.(*plain), p}
	if _, err := e.stream(ctx); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *endpoint) close() error { return errors.Join(e.served.close(), e.plain.close()) }

// stream generates over HTTP, as plainly as the engine alone does, and returns
// the seconds between the first and the last token's event.
func (e *endpoint) stream(ctx context.Context) (float64, error) {
	body, err := json.Marshal(map[string]any{
		"model": "tandem", "prompt": benchIDs(benchPrompt, e.bundle.Model.Config().VocabSize),
		"max_tokens": benchDecode, "ignore_eos": true, "temperature": 0, "stream": true, "return_token_ids": true,
		"speculation": map[string]any{"drafter": engine.None},
	})
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", e.served.url+"/v1/completions", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return 0, fmt.Errorf("%s: %s", resp.Status, text)
	}
	var first, last time.Time
	events := bufio.NewScanner(resp.Body)
	events.Buffer(nil, 1<<20)
	for events.Scan() {
		if strings.HasPrefix(events.Text(), `data: {"id"`) {
			if last = time.Now(); first.IsZero() {
				first = last
			}
		}
	}
	return last.Sub(first).Seconds(), events.Err()
}

// endpointPairs is how often the endpoint and the engine alone take turns: one
// pair on a busy machine is off by more than what is measured.
const endpointPairs = 9

func (e *endpoint) measure(ctx context.Context) (map[string]float64, error) {
	steps := float64(benchDecode - 1)
	var alone, streamed, added []float64 // microseconds per token
	for range endpointPairs {
		_, stats, err := e.plain.generate(ctx, benchPrompt, benchDecode)
		if err != nil {
			return nil, err
		}
		seconds, err := e.stream(ctx)
		if err != nil {
			return nil, err
		}
		alone = append(alone, stats.Decode.Seconds()*1e6/steps)
		streamed = append(streamed, seconds*1e6/steps)
		added = append(added, streamed[len(streamed)-1]-alone[len(alone)-1])
	}
	cost, noise := medianOf(added)
	direct, _ := medianOf(alone)
	over, _ := medianOf(streamed)
	return map[string]float64{
		"engine_us_per_token":   direct,
		"streamed_us_per_token": over,
		"endpoint_us_per_token": cost, // of the pairs, not the difference of the two above
		"noise_us_per_token":    noise,
	}, nil
}

// medianOf returns the median and, as its noise, half the range that it lies
// in with 95 %: for nine values that from the second to the eighth.
func medianOf(values []float64) (median, noise float64) {
	v := slices.Sorted(slices.Values(values))
	return v[len(v)/2], (v[len(v)-2] - v[1]) / 2
}
