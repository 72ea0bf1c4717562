package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"tandem/app"
	"tandem/app/bench"
	"tandem/app/control"
	"tandem/app/evidence"
	"tandem/models/starter"
)

func runBench(ctx context.Context, m *Main, args []string) error {
	f := m.flags("bench")
	o := bench.Options{Open: app.OpenStage, In: m.Stdin, Out: m.Stdout, Err: m.Stderr,
		Home: m.home(), Starter: starter.Beside(program())}
	if !m.Terminal {
		o.Err = &stepWriter{w: m.Stderr}
	}
	f.StringVar(&o.Model, "model", m.Getenv("TANDEM_BENCH_MODEL"),
		"`DIR` of the model, or retrieval for the built-in one of that name, or for evaluations starter or pocket (default: pocket, for evaluations starter)")
	f.BoolVar(&o.JSON, "json", false, "lines of JSON, a header first")
	f.Func("drafter", "`DIR` of a drafter for the model, or pocket/drafter-sliding: for verify, speculation and journey (several), or for recall, code and scorecard (one)",
		func(dir string) error {
			o.Drafters = append(o.Drafters, dir)
			return nil
		})
	f.Func("context", "`N,N,...` tokens before the blocks that verify times (default 64,512,2048)",
		func(list string) error {
			o.Contexts = nil
			for text := range strings.SplitSeq(list, ",") {
				n, err := strconv.Atoi(text)
				if err != nil || n < 1 {
					return fmt.Errorf("%q is not a number of tokens", text)
				}
				o.Contexts = append(o.Contexts, n)
			}
			return nil
		})
	pairs := f.Uint("pairs", 0,
		"measure at least `N` pairs for a comparison of speculation or checkpoints (default 20)")
	f.BoolVar(&o.Quick, "quick", false,
		"few measurements, to see that it works: of load, endpoint, verify, speculation, journey, lossless, checkpoints or an evaluation but drafter-parity")
	f.BoolVar(&o.Full, "full", false, "every combination of speculation")
	f.StringVar(&o.Only, "only", "",
		"only what has this `TEXT`: in speculation, where a table's title begins, such as code, edit or cold start; in endpoint and load, in the name of a row")
	f.StringVar(&o.Reports, "out", "",
		"write the reports of an evaluation to this `FILE`; `tandem evidence check` reads them")
	f.Func("samples", "`N` prompts of an evaluation (default 5)", positive(&o.Samples))
	f.StringVar(&o.Size, "size", "", "`SIZE` of recall's haystack: ctx70 or ctx280 (default: ctx70 now, ctx280 from saved reports)")
	f.BoolVar(&o.Long, "long", false, "recall measures ctx280 too")
	f.Func("tokens", "`N` tokens of an evaluation's answers, at most", positive(&o.Tokens))
	f.Func("block", "`N` rows of code's blocks (default 4, 8 and 16)", positive(&o.Block))
	f.StringVar(&o.Probe, "probe", "", "`PROBE` of code: fused")
	f.StringVar(&o.Dtype, "dtype", "", "`TYPE` of drafter-parity: float32 or bf16 (default both)")
	f.BoolVar(&o.Wait, "wait", false, "measure once for each line on standard input")
	f.Usage = func() {
		fmt.Fprintln(m.Stderr, "usage: tandem bench NAME [flags]")
		for _, b := range bench.Benches() {
			fmt.Fprintf(m.Stderr, "  %-14s %s\n", b.Name, b.Doc)
		}
		f.PrintDefaults()
	}
	rest, err := parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	all := bench.Benches()
	i := slices.IndexFunc(all, func(b bench.Bench) bool { return b.Name == rest[0] })
	if i < 0 {
		fmt.Fprintf(m.Stderr, "tandem bench: there is no bench %q\n", rest[0])
		f.Usage()
		return errUsage
	}
	o.Pairs = int(*pairs)
	if err := all[i].Check(o); err != nil {
		fmt.Fprintf(m.Stderr, "tandem bench: %v\n", err)
		return errUsage
	}
	return all[i].Run(ctx, o)
}

// positive returns a flag's function that stores a number above 0.
func positive(to *int) func(string) error {
	return func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no number above 0", text)
		}
		*to = n
		return nil
	}
}

// evidenceVerbs are the words that may follow evidence.
func evidenceVerbs() []verb {
	return []verb{{"check", "FILE...", "hold each report of the files to the rules of evidence; - is standard input",
		evidenceVerb, nil}}
}

func evidenceVerb(_ context.Context, m *Main, args []string) error {
	if len(args) > 0 && args[0] == "check" {
		return checkEvidence(m, args[1:])
	}
	f := m.flags("evidence")
	rest, err := parse(f, args, 0, len(args))
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		fmt.Fprintf(m.Stderr, "tandem evidence: there is no verb %q\n", rest[0])
	}
	f.Usage()
	return errUsage
}

// checkEvidence prints a line for each violation of each report, or the headline of an admitted
// one.
func checkEvidence(m *Main, args []string) error {
	f := m.flags("evidence check")
	asJSON := f.Bool("json", false, "one JSON object a report")
	files, err := parse(f, args, 1, len(args))
	if err != nil {
		return err
	}
	reports, refused, unread := 0, 0, false
	for _, file := range files {
		list, err := m.readReports(file)
		if err != nil {
			unread = true
			fmt.Fprintf(m.Stderr, "tandem evidence check: %s: %s\n", control.Printable(file),
				control.Printable(err.Error()))
			continue
		}
		for i, r := range list {
			v := newVerdict(file, i, len(list), r)
			if !v.Admitted {
				refused++
			}
			write := v.write
			if *asJSON {
				write = func(w io.Writer) error { return writeJSON(w, v) }
			}
			if err := write(m.Stdout); err != nil {
				return err
			}
		}
		reports += len(list)
	}
	switch {
	case unread:
		return errUsage
	case refused > 0:
		return fmt.Errorf("not admitted: %d of %s", refused, control.Plural(reports, "report"))
	}
	return nil
}

// readReports reads the reports of a file, or of standard input.
func (m *Main) readReports(file string) ([]*evidence.Report, error) {
	if file == "-" {
		return evidence.Read(m.Stdin)
	}
	r, err := os.Open(file)
	if err != nil {
		var failed *os.PathError
		if errors.As(err, &failed) {
			err = failed.Err // the line names the file already
		}
		return nil, err
	}
	defer r.Close()
	return evidence.Read(r)
}

// A verdict is what the gate says of one report.
type verdict struct {
	File       string               `json:"file"`
	Report     int                  `json:"report"` // in its file, from 1
	Kind       string               `json:"kind"`
	Admitted   bool                 `json:"admitted"`
	Violations []evidence.Violation `json:"violations"`
	Headline   evidence.Headline    `json:"headline"`

	place string // the file, and which of its reports if it has several
}

func newVerdict(file string, i, of int, r *evidence.Report) verdict {
	v := verdict{File: file, Report: i + 1, Kind: r.Kind,
		Violations: append([]evidence.Violation{}, evidence.Check(r)...),
		Headline:   evidence.HeadlineOf(r), place: file}
	v.Admitted = len(v.Violations) == 0
	if of > 1 {
		v.place = fmt.Sprintf("%s, report %d", file, v.Report)
	}
	return v
}

// write prints the verdict for a person. Names and texts are the report's: what would move the
// terminal's cursor is shown as a sign.
func (v verdict) write(w io.Writer) error {
	var lines []string
	for _, x := range v.Violations {
		lines = append(lines, v.place+": "+x.String())
	}
	if v.Admitted {
		claims := v.Headline.Lines()
		admitted := v.place + ": admitted"
		if len(claims) == 0 {
			admitted += "; it claims none of recall, speed-up and memory"
		}
		lines = append(lines, admitted)
		for _, line := range claims {
			lines = append(lines, "  "+line)
		}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, control.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}
