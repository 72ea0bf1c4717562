package control

import (
	"errors"
	"testing"
	"time"
)

// The history keeps the numbers of a message and Tandem's own words, and no other words.
func TestRecordedMessageHasNoForeignWords(t *testing.T) {
	cause := errors.New("secret")
	for _, c := range []struct {
		e                *Error
		message, records string
	}{
		{Errorf(CodeInvalid, "It is so."), "It is so.", "It is so."},
		{Errorf(CodeInvalid, "%s must lie between %d and %v, not %s.", Word("top_p"), 0, 1.5,
			"secret"),
			"top_p must lie between 0 and 1.5, not secret.",
			"top_p must lie between 0 and 1.5, not …."},
		{Errorf(CodeInvalid, "%q is %s, %s, %s, %t, after %v; %5d%%", "secret", Words{"a", "b", "c"},
			Words{"a", "b"}, Words{"a"}, true, time.Second, 7),
			`"secret" is a, b or c, a or b, a, true, after 1s;     7%`,
			`… is a, b or c, a or b, a, true, after 1s;     7%`},
		{Errorf(CodeInvalid, "cannot read %.80q: %w", "secret", cause), `cannot read "secret": secret`, "cannot read …: …"},
		{Errorf(CodeInvalid, "%v, %+v, %v, %s", []string{"secret"}, struct{ X string }{"secret"},
			nil, []byte("secret")),
			"[secret], {X:secret}, <nil>, secret", "…, …, …, …"},
		{Plain(CodeInvalid, "All of it."), "All of it.", "All of it."},
		{&Error{Code: CodeInvalid, Message: "secret"}, "secret", ""},
	} {
		if c.e.Message != c.message || c.e.Record != c.records {
			t.Errorf("%q is recorded as %q, want %q", c.e.Message, c.e.Record, c.records)
		}
	}
	if e := Errorf(CodeInvalid, "x: %w", cause); !errors.Is(e, cause) {
		t.Errorf("the cause of %v is lost", e)
	}
}
