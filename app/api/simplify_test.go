package api

import (
	"errors"
	"testing"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/modeltest"
)

// A template that refuses messages may take simpler ones. One that reached a limit would take all
// its time a second time.
func TestTemplateAtItsLimitIsAskedOnce(t *testing.T) {
	for _, limit := range []bool{false, true} {
		refused := control.Errorf(control.CodeInvalid, "The template refuses these messages.")
		if limit {
			refused.Err = model.ErrTemplateLimit
		}
		m := &modeltest.Fake{Context: 1000,
			Template: func([]byte) (string, error) { return "", refused }}
		c := Conversation{Tolerant: true,
			Messages: []Message{NewMessage("user", "a"), NewMessage("system", "b")}}
		if _, err := c.Rendered(t.Context(), m); errors.Is(err, model.ErrTemplateLimit) != limit {
			t.Errorf("at a limit %t: %v", limit, err)
		}
		if asked := len(m.Vars); (asked == 1) != limit {
			t.Errorf("at a limit %t: the template is asked %d times", limit, asked)
		}
	}
}
