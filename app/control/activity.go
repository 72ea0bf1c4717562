package control

import "time"

// The shortest and the longest stretch that GET /app/activity tells of, in minutes.
const (
	MinActivity = 5
	MaxActivity = 24 * 60
)

// Activity is the answer of GET /app/activity?minutes=N: what the requests of the last minutes took
// in and gave. A request in flight has what it took and gave so far.
type Activity struct {
	From    time.Time `json:"from"`    // the first interval begins
	Seconds int       `json:"seconds"` // length of an interval
	Read    []float64 `json:"read"`    // prompt tokens that were read, a second, by interval
	Written []float64 `json:"written"` // tokens of answers, likewise
}

// Insights is the answer of GET /app/insights: what the requests of today took and why some were
// slow, the dearest reason first.
type Insights struct {
	Today Today     `json:"today"`
	Slow  []Insight `json:"slow"`
}

// Today are the figures of the requests that began today, in local time.
type Today struct {
	Requests       int     `json:"requests"`
	Failed         int     `json:"failed"` // or interrupted, as in RunQuery
	Stopped        int     `json:"stopped"`
	PerSecond      float64 `json:"per_second"`      // tokens of an answer, median of the requests; 0 = unknown
	PromptTokens   int     `json:"prompt_tokens"`   // of all requests
	RestoredTokens int     `json:"restored_tokens"` // of them, from checkpoints

	// What checkpoints and drafts saved. Each is at least 0: what one request lost, another gained.
	CheckpointsMS float64 `json:"checkpoints_ms"`
	DraftsMS      float64 `json:"drafts_ms"`
}

// Kinds of reasons why requests were slow.
const (
	SlowChanged = "changed" // a client changes its prompts at one place, so that they are read again
	SlowSwapped = "swapped" // models were loaded in turn
	SlowQueued  = "queued"  // requests waited for others
	SlowTooLong = "long"    // prompts did not fit into the context
	SlowPlain   = "plain"   // answers had no drafts, for a reason that can be mended
)

// An Insight is one reason why requests of today were slow, with what it cost.
type Insight struct {
	Kind       string      `json:"kind"`
	CostMS     float64     `json:"cost_ms"` // of all its runs together; 0 where nothing was computed
	Runs       int         `json:"runs"`
	Latest     int64       `json:"latest"` // id of the newest of them
	Client     string      `json:"client,omitempty"`
	Models     []string    `json:"models,omitempty"` // in the order of their names
	Divergence *Divergence `json:"parted,omitempty"` // of the newest run, where its client changes its prompts
	Tokens     int         `json:"tokens,omitempty"` // of the longest prompt that did not fit, or that the newest run read again
	Behind     string      `json:"behind,omitempty"` // the client whose requests were waited for most
	Why        string      `json:"why,omitempty"`    // why there were no drafts
}
