package control

import (
	"context"
	"net/http"
	"net/url"
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

// CheckpointTitles asks for the titles of checkpoints.
func (c *Client) CheckpointTitles(ctx context.Context, ids ...string) ([]CheckpointTitle, error) {
	out, err := call[CheckpointTitles](ctx, c, http.MethodGet,
		"/app/checkpoint-titles?"+url.Values{"ids": {strings.Join(ids, ",")}}.Encode(), nil)
	return out.Titles, err
}
