package wire

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine"
)

const huge = 4 << 20

// An error keeps its beginning and its end, which says what to do.
func TestTextOfAnErrorIsClippedWhoeverMadeIt(t *testing.T) {
	long := strings.Repeat("ü", huge/2)
	for _, err := range []error{
		control.Errorf(control.CodeInvalid, "The name %q is wrong; choose another.", long),
		&control.Error{Code: control.CodeInvalid, Message: "The name " + long + " is wrong; choose another."},
		&engine.Error{Code: engine.CodeInvalid, Message: "The name " + long + " is wrong; choose another."},
		Invalid(long, "The name %s is wrong; choose another.", long),
	} {
		f := FailureOf(err)
		if m := f.Body.Message; len(m) > MaxErrorText+10 || !strings.HasPrefix(m, "The name ") ||
			!strings.HasSuffix(m, " is wrong; choose another.") || strings.Contains(m, "\ufffd") {
			t.Errorf("%d bytes: %.40s", len(m), m)
		}
		if p := f.Body.Param; p != nil && len(*p) > maxParam+10 {
			t.Errorf("param of %d bytes", len(*p))
		}
		for name, b := range map[string][]byte{"OpenAI": f.json(), "event": ServerSent{}.AppendFailure(nil, f)} {
			if len(b) > 2*MaxErrorText {
				t.Errorf("%s: %d bytes", name, len(b))
			}
		}
		if _, b := (Anthropic{}).Refusal(nil, f); len(b) > 2*MaxErrorText {
			t.Errorf("Anthropic: %d bytes", len(b))
		}
		if _, b := (Ollama{}).Refusal(nil, f); len(b) > 2*MaxErrorText {
			t.Errorf("Ollama: %d bytes", len(b))
		}
	}
}

func TestErrorsWithinAnswersAreClippedAndNothingElse(t *testing.T) {
	long := strings.Repeat(`x"\`, MaxErrorText)
	whole := map[string]any{"error": long, "content": long, "list": []any{
		map[string]any{"reason": long, "id": long}, map[string]any{"warning": "short", "why": nil}},
		"message": map[string]any{"content": long, "error": long}, "x": `"error":"` + long}
	var got map[string]any
	if err := json.Unmarshal(ClipErrors(MustJSON(whole)), &got); err != nil {
		t.Fatal(err)
	}
	size := func(v any) int { return len(v.(string)) }
	inner, first := got["message"].(map[string]any), got["list"].([]any)[0].(map[string]any)
	for name, n := range map[string]int{"error": size(got["error"]), "reason": size(first["reason"]),
		"an error deeper": size(inner["error"])} {
		if n < MaxErrorText/2 || n > MaxErrorText+10 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
	if got["content"] != long || first["id"] != long || inner["content"] != long ||
		got["x"] != `"error":"`+long {
		t.Error("another text was clipped")
	}
	for _, text := range []string{`{}`, `"error"`, `{"error":null,"why":[]}`, `["error","x"]`,
		"{\n  \"error\": \"short\"\n}", `{"error":{"message":"x"}}`} {
		if b := ClipErrors([]byte(text)); string(b) != text {
			t.Errorf("%s became %s", text, b)
		}
	}
}

func TestLogHasNoLongNames(t *testing.T) {
	var text strings.Builder
	log := slog.New(ClipLog(slog.NewTextHandler(&text, nil)))
	long := strings.Repeat("n", huge)
	log.Info(long, "model", long, "err", errors.New(long), "list", []string{long},
		slog.Group("g", "name", long))
	log.With("model", long).WithGroup("h").Info("x", "name", long)
	if n := text.Len(); n > 10*maxLogged {
		t.Errorf("%d bytes are logged", n)
	}
	text.Reset()
	if log.Info("short", "n", 7, "ok", true, "s", "x"); !strings.Contains(text.String(),
		`msg=short n=7 ok=true s=x`) {
		t.Error(text.String())
	}
}
