package record

import (
	"encoding/json"
	"time"
)

// RunQuery selects runs. The zero value means the newest 100. Each field that is not empty narrows
// the selection.
type RunQuery struct {
	Limit  int   // at most 1000; 0 = 100
	Before int64 // only runs with a smaller id

	Model, Client, Endpoint string // exact; a client without its version matches all versions
	Finish                  string // finish reason, or running
	Day                     string // of the start, as YYYY-MM-DD, where the server is
	Search                  string // in those, the drafter, the error and the time of the start; case does not matter

	// What a search finds too, because people are shown it in place of what is stored.
	FoundClients []string
	FoundRuns    []int64

	Since  time.Time // only runs that began then or later; zero = all
	Failed bool      // only runs that failed or were interrupted
	// only runs that took more than twice the median of their client, or that read most of a known
	// prompt again
	Slow bool

	Titles bool // name them too, which reads their texts; the storage has no titles

	// Sort is a key of storage.RunOrders; empty = the newest first. The largest value comes first, or the
	// smallest with Up. Before counts runs to leave out then.
	Sort string
	Up   bool
}

// RunValues are the values that occur in the fields of a RunQuery. Each list has at most a hundred,
// the latest first.
type RunValues struct {
	Models    []string `json:"models"`
	Clients   []string `json:"clients"`
	Endpoints []string `json:"endpoints"`
	Finishes  []string `json:"finishes"` // of runs that have ended
	Days      []string `json:"days"`
}

// A RunText is what it takes to complete the answer of a run, or to compute it again.
type RunText struct {
	Run     int64
	Model   string          // the run's row has it only once the run has ended
	Key     string          // of the model as it was loaded; see CheckpointFile
	Request json.RawMessage // the body; nil once the run has ended, unless it was interrupted
	Prompt  int             // tokens of the prompt
	File    string          // id of the checkpoint that has the beginning of the tokens; empty = Tail has all
	Tokens  int             // how many of the tokens that file has
	Tail    []byte          // the tokens after those, int32 little-endian; nil until the run has ended
	Replay  json.RawMessage // how they were generated
}

// A SeenClient is a client of the history, as it calls itself, with the time of its last request.
type SeenClient struct {
	Client string    `json:"client"`
	At     time.Time `json:"at"`
}

// Usage is what the runs of one model, client or day have left on the disk.
type Usage struct {
	Name        string `json:"name"`
	Runs        int    `json:"runs"`
	Checkpoints int    `json:"checkpoints"`
	Bytes       int64  `json:"bytes"` // of checkpoints
}
