package control

import (
	"context"
	"iter"
)

// MaxCheckpoints is how many checkpoints a page has at most.
const MaxCheckpoints = 1000

// CheckpointList is the answer of GET /app/checkpoints: one page. A checkpoint that is used between
// two pages does not come twice.
type CheckpointList struct {
	Checkpoints []Checkpoint `json:"checkpoints"` // the last used first
	Next        string       `json:"next"`        // Before of the next page; empty at the end

	Count   int     `json:"count"`    // of all pages
	Bytes   int64   `json:"bytes"`    // of all pages
	SavedMS float64 `json:"saved_ms"` // of all pages
}

func checkpointQuery(q *CheckpointQuery, p *params) {
	p.query("model", &q.Model)
	p.query("before", &q.Before)
	queryNumber(p, "limit", &q.Limit, MaxCheckpoints)
}

// EachCheckpoint yields the checkpoints of a model, or of all, the last used first. It asks for
// page after page. An error comes last, once.
func (c *Client) EachCheckpoint(ctx context.Context, model string) iter.Seq2[Checkpoint, error] {
	return func(yield func(Checkpoint, error) bool) {
		for q := (CheckpointQuery{Model: model}); ; {
			page, err := Call(ctx, c, ListCheckpoints, q)
			if err != nil {
				yield(Checkpoint{}, err)
				return
			}
			for _, x := range page.Checkpoints {
				if !yield(x, nil) {
					return
				}
			}
			if q.Before = page.Next; q.Before == "" {
				return
			}
		}
	}
}
