package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tandem/app/figures"
	"tandem/app/home"
)

// A blockCosts holds what a round costs after a context, by its rows. The home folder keeps it as
// JSON.
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
	Drafts    map[string]float64 `json:"drafts_ms,omitzero"` // of proposals for this many rows, by drafter
}

// rest returns the milliseconds of verify that the parts do not explain.
func (c blockCost) rest() float64 {
	return c.Verify - c.Linears - c.Attention - c.Head - c.Sampling
}

// same reports whether two costs can be compared.
func (c *blockCosts) same(o *blockCosts) bool {
	return c.Machine == o.Machine && c.Model == o.Model && c.DType == o.DType &&
		c.Context == o.Context &&
		filepath.Base(c.BLAS) == filepath.Base(o.BLAS) && c.Threads == o.Threads
}

// table shows the costs. before has the previous costs, or is nil.
func (c *blockCosts) table(before *blockCosts) figures.Table {
	t := figures.Table{
		Title: fmt.Sprintf("verify: %s, %s, context %d, on %s; a plain step takes %s ms",
			c.Model, c.DType, c.Context, c.Machine, figures.Format(c.Step)),
		Columns: []string{"rows", "verify ms", "/verify(1)", "/plain", "linears", "attention",
			"head", "sampling", "rest", "at 0.8: sampling"},
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
		t.Notes = append(t.Notes,
			"drafts are greedy; each proposal follows a context that is two tokens longer than the last")
	}
	for _, name := range names {
		t.Columns = append(t.Columns, name+" ms", name+"/plain")
	}
	if before != nil {
		t.Columns = append(t.Columns, "/last time")
		t.Notes = append(t.Notes, fmt.Sprintf("last time: %s, MLX %s, a plain step took %s ms",
			before.Date.Format(time.DateTime), before.MLX, figures.Format(before.Step)))
	}
	for i, r := range c.Rows {
		row := []any{r.Rows, r.Verify, r.Verify / c.Rows[0].Verify, r.Verify / c.Step, r.Linears,
			r.Attention, r.Head, r.Sampling, r.rest(), r.Sampled}
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

// costsFile is the file in a home folder that keeps the newest figures of each model and machine.
var costsFile = filepath.Join("bench", "verify.json")

// keepCosts stores costs in a home folder. It returns the previous costs, or nil. Without a home
// folder it does nothing.
func keepCosts(folder string, costs *blockCosts) (before *blockCosts, err error) {
	if folder == "" {
		return nil, nil
	}
	file := filepath.Join(folder, costsFile)
	var all []*blockCosts
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the figures of the last time cannot be read: %w; delete %s to start over",
			err, file)
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
	return before, home.WritePrivate(file, string(text)+"\n")
}
