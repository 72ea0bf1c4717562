package app

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/engine/native"
)

// TestAgentsGoOnWithPublishedTemplates: with each published template that has calls, an agent goes through
// two steps with text beside calls and a next turn, also with tools whose parameters may be null, and the
// call that the template prints is read again.
func TestAgentsGoOnWithPublishedTemplates(t *testing.T) {
	f, err := os.Open("../engine/native/testdata/published.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct{ Templates map[string]string }
	if err := json.NewDecoder(z).Decode(&recorded); err != nil {
		t.Fatal(err)
	}
	const tools = `[{"type":"function","function":{"name":"run","description":"d","parameters":{"type":"object","properties":` +
		`{"command":{"type":"string","description":"d"},"limit":{"type":["integer","null"],"description":"d"}},"required":["command"]}}}]`
	call := api.Message{Role: "assistant", Texts: []string{"Let me look."}, Calls: []json.RawMessage{
		json.RawMessage(`{"id":"abcdefgh1","type":"function","function":{"name":"run","arguments":{"command":"ls -l"}}}`)}}
	result := api.NewResult("abcdefgh1", "run")
	result.Texts = []string{"a.txt"}
	ask := api.NewMessage("user", "What is here?")
	count, shows := 0, []string{}
	for name, source := range recorded.Templates {
		d := dialect.Detect(source, func(text string) (int32, bool, bool) {
			found := strings.Contains(source, text)
			return 0, found, found
		})
		// SmolVLM leaves out content that is a string.
		if !d.Tools() || name == "smolvlm" {
			continue
		}
		count++
		tm, err := native.NewTemplate(source, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tm.Close()
		render := func(vars []byte) (string, error) {
			always := []byte(`{"bos_token":"","eos_token":"</s>","documents":null,`)
			return tm.Render(t.Context(), append(always, vars[1:]...))
		}
		form := d.FindHistory(true, render)
		if want := strings.HasPrefix(name, "NousResearch-Hermes"); form.WithoutNull != want {
			t.Errorf("%s: the form %+v", name, form)
		}
		var c api.Conversation
		c.Tools.List = json.RawMessage(tools)
		said := func(generate bool, list ...api.Message) string {
			text, err := render(c.Vars(list, generate, form))
			if err != nil {
				t.Errorf("%s: %d messages: %v", name, len(list), err)
			}
			return text
		}
		said(true, ask, call, result, call, result, api.NewMessage("assistant", "One file."), api.NewMessage("user", "Thanks."))
		for arguments, object := range map[string]string{`{"command":"ls -l`: `{}`, `{"limit":1,"command":"ls`: `{"limit":1}`, "ls -l": `{}`} {
			c.Messages = []api.Message{ask, {Role: "assistant"}, result}
			c.Messages[1].Call("abcdefgh1", "run", json.RawMessage(strconv.Quote(arguments)))
			if err := c.Complete(); err != nil {
				t.Fatal(err)
			}
			text, quoted := said(true, c.Messages...), strconv.Quote(arguments)
			shown := strings.Contains(text, arguments) || strings.Contains(text, quoted)
			if shown != form.AnyArguments || !strings.Contains(text, "run") {
				t.Errorf("%s, shows %t: %s, or %s, becomes %s", name, form.AnyArguments, arguments, object, text)
			}
		}
		if form.AnyArguments {
			shows = append(shows, name)
		}
		silent := call
		silent.Texts = nil
		prompt, whole := said(true, ask), said(false, ask, silent)
		at := 0
		for at < min(len(prompt), len(whole)) && prompt[at] == whole[at] {
			at++
		}
		for strings.HasSuffix(whole[:at], "<") { // not within a tag
			at--
		}
		p := d.Parser(dialect.Options{Tools: []dialect.Tool{{Name: "run"}}, Calls: true, Prompt: prompt[:at]})
		calls, arguments := []string{}, ""
		for _, part := range append(p.Push(whole[at:]), p.Flush()...) {
			switch part.Kind {
			case dialect.Call:
				calls = append(calls, part.Name)
			case dialect.Arguments:
				arguments += part.Text
			}
		}
		arguments = strings.ReplaceAll(arguments, " ", "")
		if !slices.Equal(calls, []string{"run"}) || arguments != `{"command":"ls-l"}` {
			t.Errorf("%s, %s: %q has the calls %q with %s", name, d.Name(), whole[at:], calls, arguments)
		}
	}
	if slices.Sort(shows); len(shows) < 20 {
		t.Errorf("only %s show arguments that are no object", shows)
	}
	if count < 40 {
		t.Errorf("only %d templates have calls", count)
	}
}
