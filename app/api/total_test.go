package api

import (
	"reflect"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/engine"
)

// setFigure gives a figure a value that differs from the values for other n.
func setFigure(t *testing.T, v reflect.Value, n int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n) * int64(time.Millisecond))
	case reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.String:
		v.SetString(string(rune('a' + n)))
	default:
		t.Fatalf("the test knows no figure of type %s", v.Type())
	}
}

// A rule returns the figure of two choices together.
type rule func(a, b reflect.Value) any

func sum(a, b reflect.Value) any     { return a.Int() + b.Int() }
func longest(a, b reflect.Value) any { return max(a.Int(), b.Int()) }
func first(a, _ reflect.Value) any   { return a.Interface() }

// rules has a rule for each figure that a total has.
var rules = map[string]rule{
	"PromptTokens": nil, // the prompts have it
	"CachedTokens": sum, "Matched": sum, "CompletionTokens": sum, "Given": sum,
	"Drafted": sum, "Accepted": sum, "Rounds": sum, "Syncs": sum,
	"PredictionAccepted": sum, "PredictionRejected": sum,
	"Seed": first, "Finish": first, "Repeats": first, "Miss": first,
	"Drafter": first, "NoDrafter": first,
	"Restore": longest, "Queue": longest, "Prefill": longest, "FirstToken": longest,
	"Decode": longest, "Draft": longest, "Verify": longest, "Beside": longest, "Total": longest, "PeakBytes": longest,
	"KVExact": sum, "KVWindow": sum, "KVRestored": sum,
}

// leftOut says why a total leaves out these figures.
var leftOut = map[string]string{
	"Err": "a run ends with an error of its own", "Divergence": "kept as text, of the first choice",
	"File": "kept with the text", "Filed": "kept with the text",
	"CheckpointBytes": "the engine's, not the run's",
	"Host":            "for benches", "Build": "for benches", "Wait": "for benches",
	"AcceptedAt": "control.Speculation has its rounds",
	"Depths":     "control.Speculation has it", "Accepts": "control.Speculation has it",
	"Arms": "control.Speculation has it", "Drafters": "control.Speculation has it",
	"Blocks": "control.Speculation has it, of the first choice",
}

func TestTotalHasARuleForEachFigure(t *testing.T) {
	figures := reflect.TypeFor[engine.Stats]()
	for i := range figures.NumField() {
		name := figures.Field(i).Name
		rule, ok := rules[name]
		if ok == (leftOut[name] != "") {
			t.Errorf("engine.Stats.%s has no rule here, and perhaps none in Total", name)
		}
		if rule == nil {
			continue
		}
		a, b := &Choice{Prompt: &Prompt{}}, &Choice{Prompt: &Prompt{}}
		x, y := reflect.ValueOf(&a.Stats).Elem().Field(i), reflect.ValueOf(&b.Stats).Elem().Field(i)
		setFigure(t, x, 3)
		setFigure(t, y, 5)
		all := (&Reply{Choices: []*Choice{a, b}}).Total()
		got := reflect.ValueOf(all.Stats).Field(i)
		if want := reflect.ValueOf(rule(x, y)).Convert(got.Type()); !got.Equal(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestPromptOfSeveralChoicesCountsOnce(t *testing.T) {
	prompt := &Prompt{IDs: make([]int32, 3),
		conversation: &Conversation{
			putBack: putBack{Thoughts: 1, Tokens: 2}, LeftOut: []string{"a", "b"}}}
	another := &Prompt{IDs: make([]int32, 4)}
	r := Reply{Choices: []*Choice{{Prompt: prompt}, {Prompt: prompt}, {Prompt: another}}}
	for _, c := range r.Choices {
		c.Stats.CachedTokens, c.Stats.Matched = 1, 2
	}
	if all := r.Total(); all.PromptTokens != 7 || all.CachedTokens != 2 || all.Matched != 4 ||
		all.putBack != (putBack{Thoughts: 1, Tokens: 2}) || all.LeftOut != "a; b" {
		t.Errorf("%d tokens, %d cached, %d matched, %+v put back, %q left out",
			all.PromptTokens, all.CachedTokens, all.Matched, all.putBack, all.LeftOut)
	}
}

// changed adds the fields in which two structs differ, and returns how many there are.
func changed[T any](a, b T, names map[string]bool) (n int) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if x.Type().Field(i).IsExported() && !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			names[x.Type().Field(i).Name] = true
			n++
		}
	}
	return n
}

// TestEachFigureReachesHistoryAndClient: each figure of a total is in the row of its run and in the
// timings. notKept and notTold have the exceptions, with the reason for each. No column and no
// timing stays empty.
func TestEachFigureReachesHistoryAndClient(t *testing.T) {
	notKept := map[string]string{
		"Given": "the run that was resumed has counted them", "Thoughts": "for the client alone",
		"Finish": "the first choice has it", "Decode": "the other times give it",
		"Total": "the run has its own", "FirstToken": "the run has its own",
	}
	notTold := map[string]string{
		"Given": "taken off the pace", "Thoughts": "in the usage",
		"Finish":             "each vendor has its own word",
		"PredictionAccepted": "in the usage", "PredictionRejected": "in the usage",
		"Total": "its parts are told", "Beside": "for the history", "Seed": "for a replay", "PeakBytes": "for the history",
		"KVExact": "for the history", "KVWindow": "for the history", "KVRestored": "for the history",
	}
	columns := map[string]bool{ // that a run fills in itself
		"ID": true, "StartedAt": true, "EndedAt": true, "Client": true, "Endpoint": true,
		"Model": true, "Resumes": true, "LoadMS": true, "FirstTokenMS": true, "TotalMS": true,
		"FinishReason": true, "Error": true, "Message": true, "KVBits": true,
		"KVLayout":    true,
		"Speculation": true, "Divergence": true, "Verdict": true,
	}
	timings := map[string]bool{ // that the run has, and quotients
		"RunID": true, "LoadMS": true, "Stopped": true, "PromptPerTokenMS": true, "PromptPerSecond": true,
		"PredictedPerTokenMS": true, "PredictedPerSecond": true,
	}
	r := Reply{Run: &Run{Ctx: t.Context()}, Choices: []*Choice{{}}}
	check := func(name string, all total) {
		var row control.Run
		all.keep(&row)
		if kept := changed(row, control.Run{}, columns) > 0; kept == (notKept[name] != "") {
			t.Errorf("%s is in the history: %t", name, kept)
		}
		told := changed(r.timings(all), r.timings(total{}), timings) > 0
		if told == (notTold[name] != "") {
			t.Errorf("%s is in the timings: %t", name, told)
		}
	}
	for name := range rules {
		var all total
		setFigure(t, reflect.ValueOf(&all.Stats).Elem().FieldByName(name), 3)
		check(name, all)
	}
	check("verifies", total{verifies: 3})
	check("Thoughts", total{Thoughts: 3})
	check("putBack", total{putBack: putBack{Thoughts: 3, Tokens: 4}})
	check("LeftOut", total{LeftOut: "x"})

	for i := range reflect.TypeFor[control.Run]().NumField() {
		if name := reflect.TypeFor[control.Run]().Field(i).Name; !columns[name] {
			t.Errorf("no figure reaches control.Run.%s", name)
		}
	}
	for f := range reflect.TypeFor[Timings]().Fields() {
		if f.IsExported() && !timings[f.Name] {
			t.Errorf("no figure reaches Timings.%s", f.Name)
		}
	}
}
