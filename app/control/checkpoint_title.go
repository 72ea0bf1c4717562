package control

import (
	"context"
	"slices"
	"strings"
)

// CheckpointTitles is the answer of GET /app/checkpoint-titles?ids=ID,ID. Checkpoints that cannot
// be read are left out.
type CheckpointTitles struct {
	Titles []CheckpointTitle `json:"titles"`
}

// A CheckpointTitle says what a checkpoint's text is about: the first words of what a person said
// last, or the last line of code.
type CheckpointTitle struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Ends  string `json:"ends,omitempty"` // the last words of the text
}

// MaxTitles limits how many titles one request may ask for.
const MaxTitles = 100

// titleIDs passes the ids of checkpoints. A page that lists many asks for the titles in sight.
func titleIDs(ids *[]string, p *params) {
	text := strings.Join(*ids, ",")
	p.query("ids", &text)
	*ids = strings.FieldsFunc(text, func(c rune) bool { return c == ',' })
	if len(*ids) > MaxTitles {
		p.invalid("ids", "%s may name %d checkpoints at most, not %d.", Word("ids"), MaxTitles, len(*ids))
	}
}

// CheckpointTitles returns the titles of checkpoints, by their ids. It asks for MaxTitles at a time.
func (c *Client) CheckpointTitles(ctx context.Context, list []Checkpoint) (map[string]string, error) {
	titles := map[string]string{}
	for some := range slices.Chunk(list, MaxTitles) {
		var ids []string
		for _, x := range some {
			ids = append(ids, x.ID)
		}
		found, err := Call(ctx, c, ListCheckpointTitles, ids)
		if err != nil {
			return nil, err
		}
		for _, t := range found.Titles {
			titles[t.ID] = t.Title
		}
	}
	return titles, nil
}
