package control

import (
	"context"
	"time"
)

// A Bench is the result of measuring a model on this machine for some minutes.
type Bench struct {
	ID      int64       `json:"id"`
	At      time.Time   `json:"at"`
	Model   string      `json:"model"`
	Machine string      `json:"machine"`
	Version string      `json:"version"` // of the program
	Result  BenchResult `json:"result"`
}

// A Spread is the median of measurements, and its 95 % interval by the bootstrap.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// BenchResult holds the figures of a Bench.
type BenchResult struct {
	Seconds float64 `json:"seconds"` // that measuring took, without the waits for requests
	Waited  float64 `json:"waited"`  // seconds of waiting for requests
	Repeats int     `json:"again"`   // measurements that were repeated because a request came in between

	Device  string `json:"device"` // cpu or gpu
	Dtype   string `json:"dtype"`
	MLX     string `json:"mlx"`     // version
	Drafter string `json:"drafter"` // kind of the one that requests had; empty if only the text was looked up

	Decode   BenchDecode    `json:"decode"`             // with what requests had
	Drafters []BenchDrafter `json:"drafters,omitempty"` // each that the model could have; looking up text alone is the last; nil in results of earlier versions
	Restore  BenchRestore   `json:"restore"`
	Verify   BenchVerify    `json:"verify"`
}

// Lookups is the name of drafting from earlier text only among the drafters of a model.
const Lookups = "earlier text only"

// BenchDrafter is what one of the drafters that a model could have gains. The text was looked up
// too, as it is for requests.
type BenchDrafter struct {
	Name   string      `json:"name"`             // for people
	Kind   string      `json:"kind,omitempty"`   // as in Drafter; ngram if the text alone was looked up; empty if the drafter was left out
	Source string      `json:"source"`           // as in Drafter
	Choice string      `json:"choice"`           // what sets it, see DrafterRequest
	Served bool        `json:"served,omitempty"` // requests had it
	Bytes  int64       `json:"bytes,omitempty"`  // of its weights in memory
	Why    string      `json:"why,omitempty"`    // why it was left out, one sentence
	Decode BenchDecode `json:"decode"`
}

// BenchDecode compares plain decoding with decoding as requests get it, with drafts, on code.
type BenchDecode struct {
	Plain           Spread  `json:"plain"`             // tokens per second
	Drafted         Spread  `json:"drafted"`           // tokens per second
	Times           Spread  `json:"times"`             // how many times as fast with drafts
	TokensPerVerify float64 `json:"tokens_per_verify"` // 0 if nothing was drafted
	Pairs           int     `json:"pairs"`             // 0 if no prompt was of use
	Prompts         int     `json:"prompts"`           // prompts that the pairs come from
	Discarded       int     `json:"left"`              // prompts that do not count, because their answers loop or are too short
	Differing       int     `json:"differing"`         // answers that differ from plain ones by more than rounding
}

// BenchRestore compares restoring a prompt from disk with computing it.
type BenchRestore struct {
	Tokens     int    `json:"tokens"`     // of the prompt
	Bytes      int64  `json:"bytes"`      // of one prompt's files
	Recomputed Spread `json:"recomputed"` // milliseconds to the first token
	Restored   Spread `json:"restored"`   // milliseconds to the first token
	Times      Spread `json:"times"`      // how many times as fast restored
	Pairs      int    `json:"pairs"`
}

// BenchVerify is the cost of a forward over several tokens, compared with a plain step.
type BenchVerify struct {
	Context int         `json:"context"` // tokens before them
	Step    Spread      `json:"step"`    // milliseconds of a plain step
	Rows    []BenchRows `json:"rows"`
	Turns   int         `json:"turns"` // measurements of each row
}

// BenchRows is the cost of one number of tokens.
type BenchRows struct {
	Rows  int    `json:"rows"`
	MS    Spread `json:"ms"`
	Steps Spread `json:"steps"` // its cost in plain steps
}

// Benches is the answer of GET /app/benches.
type Benches struct {
	Benches  []Bench        `json:"benches"` // the newest first
	Running  bool           `json:"running"`
	Progress *BenchProgress `json:"progress,omitempty"` // of the one that runs, after its first event
	Failure  string         `json:"failure,omitempty"`  // why the last one failed, one sentence; empty if a person ended it
	Plan     *BenchPlan     `json:"plan,omitempty"`     // of the chosen model; nil if it is not known
}

// BenchPlan says what the next bench measures.
type BenchPlan struct {
	Model    string   `json:"model"`
	Drafters []string `json:"drafters"` // names; looking up text alone is not among them
	Seconds  float64  `json:"seconds"`  // that it takes, about
}

// BenchRequest is the body of POST /app/benches.
type BenchRequest struct {
	Stay bool `json:"stay,omitempty"` // it goes on when the client leaves
}

// BenchProgress is one event of POST /app/benches. The stream ends with one that has Bench set, or
// with an error event.
type BenchProgress struct {
	Part    string `json:"part"`              // decode, restore or verify
	Done    int    `json:"done"`              // measurements of it
	Total   int    `json:"total"`             // at most
	Drafter string `json:"drafter,omitempty"` // name of the one that is measured, in decode
	Nth     int    `json:"nth,omitempty"`     // which of Of drafters that is, from 1
	Of      int    `json:"of,omitempty"`
	Waiting bool   `json:"waiting,omitempty"` // for requests to end
	Bench   *Bench `json:"bench,omitempty"`
}

// Bench measures the chosen model, for some minutes: BenchPlan says how many. It calls progress for
// every event. When ctx ends, the measuring ends.
func (c *Client) Bench(ctx context.Context, progress func(BenchProgress)) (Bench, error) {
	cut := Errorf(CodeUnavailable, "The bench was cut off; run it again.")
	return follow(ctx, c, RunBench, BenchRequest{}, cut, func(p BenchProgress) *Bench {
		if p.Bench == nil {
			progress(p)
		}
		return p.Bench
	})
}
