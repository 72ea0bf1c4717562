package history

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tandem/app/control"
)

// parted returns where a prompt parts from an earlier one, that of a run if it is not 0.
func parted(at int, run int64) json.RawMessage {
	text, err := json.Marshal(control.Divergence{At: at, Kept: "4", Given: "5", Run: run})
	if err != nil {
		panic(err)
	}
	return text
}

func TestChangedPromptsCostWhatIsReadAgain(t *testing.T) {
	found := func(cost float64, runs int, latest int64, at, tokens int, run int64) control.Insight {
		return control.Insight{Kind: control.SlowChanged, CostMS: cost, Runs: runs, Latest: latest,
			Client: "a", Models: []string{"m"}, Tokens: tokens,
			Divergence: &control.Divergence{At: at, Kept: "4", Given: "5", Run: run}}
	}
	ran := func(id int64, client string, parted json.RawMessage) control.Run {
		return control.Run{ID: id, Client: client, Model: "m", PromptTokens: 1000, CachedTokens: 100,
			RestoreMS: 1000, PrefillMS: 10_000, Divergence: parted}
	}
	for _, x := range []struct {
		name string
		runs []control.Run // the newest first
		want []control.Insight
	}{
		{"a client that changes its prompts",
			[]control.Run{ran(3, "a", parted(100, 0)), ran(2, "zed", parted(100, 0)), ran(1, "a", parted(100, 0))},
			[]control.Insight{found(18_000, 2, 3, 100, 900, 0)}},
		{"an edited answer is no habit", []control.Run{
			ran(2, "a", json.RawMessage(`{"at":20,"answer":true}`)), ran(1, "a", json.RawMessage(`{"at":20,"answer":true}`)),
		}, nil},
		{"two new chats", []control.Run{
			ran(2, "a", json.RawMessage(`{"at":20,"new":true}`)), ran(1, "a", json.RawMessage(`{"at":20,"new":true}`)),
		}, nil},
		{"two places", []control.Run{ran(2, "a", parted(20, 0)), ran(1, "a", parted(29, 0))}, nil},
		{"minutes and their tens", []control.Run{
			ran(4, "a", parted(21, 0)), ran(3, "a", parted(28, 0)), ran(2, "a", parted(20, 0)), ran(1, "a", parted(21, 0)),
		}, []control.Insight{found(36_000, 4, 4, 21, 900, 0)}},
		{"no chain of places",
			[]control.Run{ran(3, "a", parted(36, 0)), ran(2, "a", parted(28, 0)), ran(1, "a", parted(20, 0))},
			[]control.Insight{found(18_000, 2, 2, 28, 900, 0)}},
		{"another client's text", []control.Run{
			ran(3, "a", parted(100, 1)), ran(2, "a", parted(100, 1)), ran(1, "b", nil),
		}, nil},
		{"a short text", []control.Run{
			ran(3, "a", parted(100, 1)), ran(2, "a", parted(100, 1)),
			{ID: 1, Client: "a", Model: "m", PromptTokens: 300, CompletionTokens: 250},
		}, []control.Insight{found(9_000, 2, 3, 100, 450, 1)}},
		{"a run without figures", []control.Run{
			ran(3, "a", parted(100, 1)), ran(2, "a", parted(100, 1)), {ID: 1, Client: "a"},
		}, []control.Insight{found(18_000, 2, 3, 100, 900, 1)}},
		{"the text of a day before, whose client is not known", []control.Run{ran(30, "a", parted(100, 9)), ran(20, "a", parted(100, 9))}, nil},
		{"another version of the same client", []control.Run{
			ran(30, "a/2", parted(100, 9)), ran(20, "a/2", parted(100, 9)), ran(9, "a/1", nil),
		}, []control.Insight{{Kind: control.SlowChanged, CostMS: 18_000, Runs: 2, Latest: 30, Client: "a/2",
			Models: []string{"m"}, Tokens: 900,
			Divergence: &control.Divergence{At: 100, Kept: "4", Given: "5", Run: 9}}}},
	} {
		wantInsights(t, x.name, insights(x.runs, time.Time{}), x.want)
	}
}

func TestLoadsInTurnCostTheirTime(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 11, 26, 9, 0, s, 0, time.UTC) }
	// Each entry is a model with the seconds in which a run waited for it, the earliest first.
	runs := func(list ...string) (runs []control.Run) {
		for i, text := range list {
			var model string
			var from, to int
			if _, err := fmt.Sscanf(text, "%s %d %d", &model, &from, &to); err != nil {
				t.Fatal(err)
			}
			r := control.Run{ID: int64(i + 1), Model: model, StartedAt: at(from), EndedAt: at(59),
				LoadMS: float64(1000 * (to - from))}
			runs = append([]control.Run{r}, runs...)
		}
		return runs
	}
	for _, x := range []struct {
		name string
		runs []control.Run
		want []control.Insight
	}{
		{"in turn", runs("b 0 3", "a 10 14", "b 20 23"),
			[]control.Insight{{Kind: control.SlowSwapped, CostMS: 10_000, Runs: 3, Latest: 3, Models: []string{"a", "b"}}}},
		{"several requests wait for one load", runs("b 0 3", "a 10 14", "a 11 14", "a 12 14", "b 20 23"),
			[]control.Insight{{Kind: control.SlowSwapped, CostMS: 10_000, Runs: 5, Latest: 5, Models: []string{"a", "b"}}}},
		{"a model that was loaded once", runs("c 0 5", "b 6 9", "a 10 14", "b 20 23", "d 30 35"),
			[]control.Insight{{Kind: control.SlowSwapped, CostMS: 10_000, Runs: 3, Latest: 4, Models: []string{"a", "b"}}}},
		{"each model once", runs("a 0 4", "b 10 13"), nil},
		{"each model once, for several requests", runs("a 0 4", "a 1 4", "b 10 13", "b 11 13"), nil},
		{"one model again", runs("b 0 3", "b 10 13"), nil},
		{"one model again, then another", runs("b 0 3", "b 10 13", "a 20 23"), nil},
	} {
		wantInsights(t, x.name, insights(x.runs, at(59)), x.want)
	}
}
