package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tandem/app/home"
	"tandem/engine"
	"tandem/engine/mlx"
	"tandem/models"
)

// verifyRows are the rows of the largest block that is timed.
const verifyRows = 16

// A verification times a verify round of 1 to verifyRows rows behind a context, and
// what it consists of. The whole is the model's forward with its head and the
// verdict, evaluated and read as the engine does it, but not pipelined. The
// parts are sub-graphs of the same shapes on the model's own layers and caches,
// each evaluated by itself: the linear layers, attention without its
// projections, the head, and the verdict. What the whole takes beyond them,
// norms, activations, residuals, embedding and graph building, is printed as
// rest; the parts' own waits, one each, count against it, so that it can fall
// below zero where everything else is cheap.
type verification struct {
	options Options
	thread  *mlx.Thread
	bundle  *models.Bundle // of the type that is measured
	fewRows bool           // it has the kernel for few rows
}

func openVerify(ctx context.Context, o Options) (bench, error) {
	t, b, err := benchModel(ctx, o.Model, models.Options{Dtype: models.DtypeFloat32})
	if err != nil {
		return nil, err
	}
	return &verification{options: o, thread: t, bundle: b}, nil
}

func (v *verification) header() benchHeader {
	h := newBenchHeader()
	h.DType = "each by itself"
	return h
}

func (v *verification) Close() error {
	var err error
	if v.bundle != nil {
		err = v.bundle.Close()
	}
	return errors.Join(err, v.thread.Close())
}

// report measures the model in float32, as its checkpoint is if that differs,
// and with the kernel for few rows where there is one.
func (v *verification) report(ctx context.Context, table func(BenchTable) error) error {
	measured := v.bundle.Info.Dtype
	if err := v.contexts(ctx, models.DtypeFloat32, table); err != nil {
		return err
	}
	err := v.bundle.Close()
	v.bundle = nil
	if err != nil {
		return err
	}
	if v.bundle, err = loadBenchModel(ctx, v.thread, v.options.Model, models.Options{Dtype: models.DtypeCheckpoint}); err != nil {
		return err
	}
	if v.bundle.Info.Dtype != measured {
		if err := v.contexts(ctx, models.DtypeCheckpoint, table); err != nil {
			return err
		}
	}
	if v.bundle.Info.Quantization == "" || !v.thread.GPU() {
		return nil
	}
	err = v.bundle.Close()
	v.bundle = nil
	if err != nil {
		return err
	}
	v.fewRows = true
	if v.bundle, err = loadBenchModel(ctx, v.thread, v.options.Model, models.Options{Dtype: models.DtypeCheckpoint, FewRows: true}); err != nil {
		return err
	}
	return v.contexts(ctx, models.DtypeCheckpoint, table)
}

// contexts measures the loaded model behind every context.
func (v *verification) contexts(ctx context.Context, dtype models.DtypePolicy, table func(BenchTable) error) error {
	drafters, err := loadBenchDrafters(ctx, v.bundle, v.options.Model, v.options.Drafters, models.Options{Dtype: dtype})
	if err != nil {
		return err
	}
	defer drafters.Close()
	lengths := v.options.Contexts
	if lengths == nil {
		lengths = []int{64, 512, 2048}
	}
	for _, n := range lengths {
		costs, err := v.measure(ctx, drafters, n)
		if err != nil {
			return err
		}
		before, err := keepCosts(v.options.Home, costs)
		if err != nil {
			return err
		}
		if err := table(costs.table(before)); err != nil {
			return err
		}
	}
	return nil
}

// A blockCosts is what rounds cost behind a context, by their rows. It is what
// is kept, as JSON.
type blockCosts struct {
	Machine string    `json:"machine"`
	Model   string    `json:"model"`
	DType   string    `json:"dtype"` // with the quantization
	Context int       `json:"context"`
	BLAS    string    `json:"blas"`
	MLX     string    `json:"mlx"`
	Threads int       `json:"threads"`
	Date    time.Time `json:"date"`

	Step float64     `json:"step_ms"` // of plain decoding, pipelined
	Rows []blockCost `json:"rows"`
}

// A blockCost is what a round of some rows costs, in milliseconds.
type blockCost struct {
	Rows      int                `json:"rows"`
	Verify    float64            `json:"verify_ms"`
	Linears   float64            `json:"linears_ms"`
	Attention float64            `json:"attention_ms"`
	Head      float64            `json:"head_ms"`
	Sampling  float64            `json:"sampling_ms"`        // greedy
	Sampled   float64            `json:"sampled_ms"`         // at temperature 0.8; not part of Verify
	Drafts    map[string]float64 `json:"drafts_ms,omitzero"` // of a block of as many rows, by drafter
}

// rest is what the parts do not explain.
func (c blockCost) rest() float64 {
	return c.Verify - c.Linears - c.Attention - c.Head - c.Sampling
}

// same reports whether two costs can be compared.
func (c *blockCosts) same(o *blockCosts) bool {
	return c.Machine == o.Machine && c.Model == o.Model && c.DType == o.DType && c.Context == o.Context &&
		filepath.Base(c.BLAS) == filepath.Base(o.BLAS) && c.Threads == o.Threads
}

// measure times every number of rows in turns, several times over, and takes
// the medians.
func (v *verification) measure(ctx context.Context, drafters *benchDrafters, length int) (*blockCosts, error) {
	turns, steps := 11, 48
	if v.options.Quick {
		turns, steps = 3, 16
	}
	h := newBenchHeader()
	costs := &blockCosts{
		Machine: home.Machine(), Model: benchModelName(v.options.Model), DType: v.bundle.Info.Dtype.String(), Context: length,
		BLAS: h.BLAS, MLX: h.Versions["mlx"], Threads: h.Threads, Date: time.Now().UTC().Truncate(time.Second),
	}
	if q := v.bundle.Info.Quantization; q != "" {
		costs.DType += ", " + q
	}
	if v.fewRows {
		costs.DType += ", kernel for few rows"
	}
	e := engine.New(v.thread, v.bundle.Model, v.bundle.Tokenizer, engine.Options{})
	defer e.Close()
	d, err := newStand(ctx, v.thread, v.bundle, drafters.list, length, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()

	samples := map[string]map[int][]float64{} // by what and rows
	take := func(what string, rows int, ms float64, err error) error {
		if samples[what] == nil {
			samples[what] = map[int][]float64{}
		}
		samples[what][rows] = append(samples[what][rows], ms)
		return err
	}
	var plain []float64
	for turn := range turns + 1 {
		if turn == 1 {
			clear(samples) // kernels are compiled, memory is taken
			plain = nil
		}
		fmt.Fprintf(v.options.Err, "\r%s, context %d, turn %d of %d ", costs.DType, length, turn, turns)
		if turn%4 < 2 {
			ms, err := d.plain(ctx, e, steps)
			if err != nil {
				return nil, err
			}
			plain = append(plain, ms)
		}
		for n := 1; n <= verifyRows; n++ {
			for what, part := range map[string]func(context.Context, int) (float64, error){
				"linears": d.linears, "attention": d.attention, "head": d.head,
			} {
				ms, err := part(ctx, n)
				if err := take(what, n, ms, err); err != nil {
					return nil, err
				}
			}
			for what, temperature := range map[string]float64{"sampling": 0, "sampled": sampledTemperature} {
				ms, err := d.sampling(ctx, n, temperature)
				if err := take(what, n, ms, err); err != nil {
					return nil, err
				}
			}
			ms, err := d.verify(ctx, n, 0)
			if err := take("verify", n, ms, err); err != nil {
				return nil, err
			}
			for i, r := range drafters.list {
				if n < 2 || n-1 > r.MaxDrafts() {
					continue
				}
				ms, err := d.propose(ctx, i, n-1)
				if err := take(r.Name(), n, ms, err); err != nil {
					return nil, err
				}
			}
		}
	}
	fmt.Fprintln(v.options.Err)
	costs.Step = middle(plain)
	for n := 1; n <= verifyRows; n++ {
		of := func(what string) float64 { return middle(samples[what][n]) }
		c := blockCost{
			Rows: n, Verify: of("verify"), Linears: of("linears"), Attention: of("attention"), Head: of("head"),
			Sampling: of("sampling"), Sampled: of("sampled"), Drafts: map[string]float64{},
		}
		for _, r := range drafters.list {
			if ms := of(r.Name()); ms > 0 {
				c.Drafts[r.Name()] = ms
			}
		}
		costs.Rows = append(costs.Rows, c)
	}
	return costs, nil
}

// table shows costs beside those of the last time, nil if there are none.
func (c *blockCosts) table(before *blockCosts) BenchTable {
	t := BenchTable{
		Title: fmt.Sprintf("verify: %s, %s, context %d, on %s; a plain step takes %s ms",
			c.Model, c.DType, c.Context, c.Machine, sensible(c.Step)),
		Columns: []string{"rows", "verify ms", "/verify(1)", "/plain", "linears", "attention", "head", "sampling", "rest", "at 0.8: sampling"},
	}
	var names []string
	for _, row := range c.Rows {
		for name := range row.Drafts {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	if len(names) > 0 {
		t.Notes = append(t.Notes, "drafts are proposed greedily, each behind two tokens more than the last")
	}
	for _, name := range names {
		t.Columns = append(t.Columns, name+" ms", name+"/plain")
	}
	if before != nil {
		t.Columns = append(t.Columns, "/last time")
		t.Notes = append(t.Notes, fmt.Sprintf("last time: %s, MLX %s, a plain step took %s ms",
			before.Date.Format(time.DateTime), before.MLX, sensible(before.Step)))
	}
	for i, r := range c.Rows {
		row := []any{r.Rows, r.Verify, r.Verify / c.Rows[0].Verify, r.Verify / c.Step, r.Linears, r.Attention, r.Head, r.Sampling, r.rest(), r.Sampled}
		for _, name := range names {
			if ms, ok := r.Drafts[name]; ok {
				row = append(row, ms, ms/c.Step)
			} else {
				row = append(row, nil, nil)
			}
		}
		if before != nil {
			row = append(row, r.Verify/before.Rows[i].Verify)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// costsFile is where the figures of all models and machines are kept in a home
// folder, the newest of each.
var costsFile = filepath.Join("bench", "verify.json")

// keepCosts stores costs in a home folder and returns those that they replace,
// nil if there are none. Without a home folder it does nothing.
func keepCosts(home string, costs *blockCosts) (before *blockCosts, err error) {
	if home == "" {
		return nil, nil
	}
	file := filepath.Join(home, costsFile)
	var all []*blockCosts
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the figures of the last time: %w; delete %s to begin anew", err, file)
	}
	i := slices.IndexFunc(all, costs.same)
	if i < 0 {
		all = append(all, costs)
	} else {
		before, all[i] = all[i], costs
	}
	if before != nil && len(before.Rows) != len(costs.Rows) {
		before = nil // of another version
	}
	if text, err = json.MarshalIndent(all, "", " "); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	// Whole or not at all.
	part := file + ".part"
	if err := os.WriteFile(part, append(text, '\n'), 0o600); err != nil {
		return nil, err
	}
	return before, os.Rename(part, file)
}
