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
		{Errorf(CodeInvalid, "%s must be between %d and %v, not %s.", Word("top_p"), 0, 1.5,
			"secret"),
			"top_p must be between 0 and 1.5, not secret.",
			"top_p must be between 0 and 1.5, not …."},
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

// The command line gets an error as the server made it: its message, and what to do in a terminal.
func TestErrorOfAnAnswerHasItsAdvice(t *testing.T) {
	for _, c := range []struct{ body, message, advice string }{
		{`{"error":{"message":"There is no x. List them.","advice":"List them.","code":"run_not_found"}}`, "There is no x.", "List them."},
		{`{"error":{"message":"There is no x.","code":"run_not_found"}}`, "There is no x.", ""},
	} {
		e := errorOf([]byte(c.body), "404 Not Found")
		if e.Message != c.message || e.ToDo() != c.advice || e.Code != CodeRunNotFound {
			t.Errorf("%s is %+v", c.body, e)
		}
	}
	if e := NotInstalled("org/x"); e.Error() != `The model "org/x" is not installed.` || e.ToDo() != ToInstall ||
		e.Record != "The model … is not installed." {
		t.Errorf("%+v", e)
	}
}
