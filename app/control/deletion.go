package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Amount says in words how much was forgotten, or would be. Texts alone are said without the runs.
func (g Forgotten) Amount() string {
	what := Plural(g.Tokens, "token")
	if g.Runs+g.Checkpoints > 0 || g.Tokens == 0 {
		what = fmt.Sprintf("%s, %s and %s", Plural(g.Runs, "run"),
			Plural(g.Checkpoints, "checkpoint"), what)
	}
	return fmt.Sprintf("%s of the memory of texts, which frees %s", what, ByteSize(g.Bytes))
}

// WouldForget says what Forget would delete.
func (c *Client) WouldForget(ctx context.Context, r ForgetRequest) (Forgotten, error) {
	v := url.Values{"model": {r.Model}, "client": {r.Client}, "day": {r.Day}}
	return call[Forgotten](ctx, c, http.MethodGet, "/app/forget?"+v.Encode(), nil)
}

// WouldDelete says what DeleteCheckpoint would delete, or why it would not.
func (c *Client) WouldDelete(ctx context.Context, name string, all bool) (Deleted, error) {
	return call[Deleted](ctx, c, http.MethodGet,
		fmt.Sprintf("%s/deletion?all=%t", CheckpointPath(name), all), nil)
}

// WouldDeleteChats says what DeleteChat would delete, or DeleteChats if id is 0.
func (c *Client) WouldDeleteChats(ctx context.Context, id int64) (DeletedChats, error) {
	path := "/app/chats"
	if id != 0 {
		path = chatPath(id)
	}
	return call[DeletedChats](ctx, c, http.MethodGet, path+"/deletion", nil)
}
