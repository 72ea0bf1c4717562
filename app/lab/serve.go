package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/figures"
	"tandem/models"
)

// startup measures how long `tandem serve` takes on the pocket model.
type startup struct{ program, version string }

type startOptions struct{ program string }

// Flags implements Options.
func (o *startOptions) Flags(f *pflag.FlagSet) { tandemFlag(f, &o.program) }

// tandemFlag declares --tandem.
func tandemFlag(f *pflag.FlagSet, program *string) {
	f.StringVar(program, "tandem", *program, "`FILE` of the tandem that serves")
}

// versionOf returns the version of a file of tandem, such as 0.1.0+1234567890ab.
func versionOf(ctx context.Context, program string) (string, error) {
	if program == "" {
		return "", errors.New("no tandem is beside this program; give --tandem FILE: " +
			"`go run ./build run --headless` builds one")
	}
	out, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return "", fmt.Errorf("%s does not run, give another --tandem FILE: %w", program, err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "tandem "), nil
}

// headerOf returns the header of a bench that lets a tandem of this version serve.
func headerOf(version string) figures.Header {
	h := bench.NewHeader("")
	if version != "" {
		h.Versions["tandem"] = version
	}
	return h
}

// Open implements Options.
func (o *startOptions) Open(ctx context.Context, _ bench.Env) (bench.Opened, error) {
	version, err := versionOf(ctx, o.program)
	return &startup{o.program, version}, err
}

func (s *startup) Header() figures.Header { return headerOf(s.version) }
func (s *startup) Close() error           { return nil }

func (s *startup) Measure(ctx context.Context) (figures.Metrics, error) {
	began := time.Now()
	p, err := serveApart(ctx, s.program, "--model", models.PocketID)
	if err != nil {
		return nil, err
	}
	return figures.Metrics{"ready_ms": figures.Since(began)}, p.Close()
}

// A served process is a `tandem serve` on a temporary home folder.
type served struct {
	url    string
	home   string
	cmd    *exec.Cmd
	stderr bytes.Buffer // shown if it fails
}

// serveApart starts a `tandem serve` and waits until it answers requests. The caller closes it.
func serveApart(ctx context.Context, program string, flags ...string) (*served, error) {
	home, err := os.MkdirTemp("", "tandem-bench-")
	if err != nil {
		return nil, err
	}
	p := &served{home: home}
	p.cmd = exec.CommandContext(ctx, program,
		append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)...)
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
		return nil, errors.Join(errors.New("tandem serve printed no address"), p.Close())
	}
	p.url = lines.Text()
	go io.Copy(io.Discard, out)
	if err := p.ready(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// ready waits until requests can be answered.
func (p *served) ready(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < time.Minute; {
		resp, err := http.Get(p.url + "/health")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := sleep(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("the endpoint did not become ready within a minute")
}

// sleep returns after d, or earlier with the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *served) Close() error {
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
type memory struct{ *bench.Plain }

type memoryOptions struct{ plainOptions }

// Open implements Options.
func (o *memoryOptions) Open(ctx context.Context, _ bench.Env) (bench.Opened, error) {
	p, err := o.open(ctx)
	return memory{p}, err
}

func (m memory) Measure(ctx context.Context) (figures.Metrics, error) {
	const requests = 200
	once := func(i int) error {
		_, _, err := m.Generate(ctx, 16+i*7%200, 8)
		return err
	}
	// As many unmeasured requests come first. The memory that the process took for its first,
	// longer requests returns to the system little by little.
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
		rss, err := residentBytes(os.Getpid())
		return float64(m.Thread.Memory().Active) + float64(stats.HeapAlloc), rss, err
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
	return figures.Metrics{
		"held_bytes": before, "held_growth_percent": 100 * (after - before) / before,
		"resident_bytes": rss, "resident_growth_percent": 100 * (rssAfter - rss) / rss,
	}, nil
}

// residentBytes returns how many bytes of memory a process occupies, as ps says.
func residentBytes(pid int) (float64, error) {
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("ps: %w", err)
	}
	kib, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return kib * 1024, err
}
