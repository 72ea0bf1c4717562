package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

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
