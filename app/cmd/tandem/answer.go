package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"tandem/app/control"
	"tandem/app/terminal"
)

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// A chunk is one event of either completion route.
type chunk struct {
	Choices []struct {
		Text  string
		Delta struct {
			Content string
			Thought string `json:"reasoning_content"`
		}
		TokenIDs     []int32 `json:"token_ids"`
		FinishReason string  `json:"finish_reason"`
	}
	Usage   json.RawMessage
	Timings json.RawMessage
}

// An answer is what a generating route streamed.
type answer struct {
	text strings.Builder
	summary
}

// A summary is what a stream says of its answer, nil until it has ended.
type summary struct {
	FinishReason string          `json:"finish_reason"`
	Usage        json.RawMessage `json:"usage"`
	Timings      json.RawMessage `json:"timings"`
}

// ask sends a request to the route of its kind: for the answer to its messages, or with raw for the
// continuation of the last one. A model without a chat template continues in any case; continues says so.
func (m *Main) ask(ctx context.Context, c *control.Client, g generation, raw bool) (body io.ReadCloser,
	continues bool, err error) {
	route := "/v1/chat/completions"
	if raw {
		route, g.Prompt, g.Messages = "/v1/completions", g.Messages[len(g.Messages)-1].Content, nil
	}
	resp, err := c.Do(ctx, "POST", route, g)
	if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeNoTemplate {
		return m.ask(ctx, c, g, true)
	}
	if err != nil {
		return nil, false, err
	}
	return resp.Body, raw, nil
}

// generate streams an answer to standard output. A model without a chat template continues the
// prompt instead.
func (m *Main) generate(ctx context.Context, c *control.Client, g generation, raw, asJSON bool) error {
	stop := m.watch(ctx, stateOf(c))
	defer stop()
	body, continues, err := m.ask(ctx, c, g, raw)
	if err != nil {
		return err
	}
	a, err := m.print(body, terminal.AnswerForm{JSON: asJSON, Markdown: !continues}, stop)
	if err == nil && m.Terminal && m.Shown && !asJSON {
		m.Remark("%s", a.speed())
	}
	return err
}

// print writes a generating route's stream to standard output, and closes body. It calls began for
// every part that arrives. What it returns with an error is the beginning of the answer.
func (m *Main) print(body io.ReadCloser, form terminal.AnswerForm, began func()) (*answer, error) {
	defer body.Close()
	p := m.NewAnswerPrinter(form)
	a := &answer{}
	err := a.read(body, func(x terminal.Part) error {
		began()
		return p.Add(x)
	})
	return a, errors.Join(err, p.End(a.summary, err != nil))
}

// read reads a stream of events to its end and calls visit with every part.
func (a *answer) read(body io.Reader, visit func(terminal.Part) error) error {
	for data, err := range control.Events(body) {
		if err != nil {
			return err
		}
		var ch chunk
		if err := json.Unmarshal(data, &ch); err != nil {
			return fmt.Errorf("the stream is damaged: %w", err)
		}
		if ch.Usage != nil && string(ch.Usage) != "null" {
			a.Usage = ch.Usage
		}
		if ch.Timings != nil {
			a.Timings = ch.Timings
		}
		for _, choice := range ch.Choices {
			a.FinishReason = cmp.Or(choice.FinishReason, a.FinishReason)
			text := choice.Text + choice.Delta.Content
			a.text.WriteString(text)
			part := terminal.Part{Text: text, Thought: choice.Delta.Thought, TokenIDs: choice.TokenIDs}
			if err := visit(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// speed returns how quickly an answer came, and how much of its prompt was restored.
func (a *answer) speed() string {
	var t struct {
		Restored int     `json:"cache_n"`
		Read     int     `json:"prompt_n"`
		Tokens   int     `json:"predicted_n"`
		Speed    float64 `json:"predicted_per_second"`
	}
	if json.Unmarshal(a.Timings, &t) != nil {
		return ""
	}
	text := control.Plural(t.Tokens, "token")
	if t.Speed > 0 {
		text += fmt.Sprintf(", %.1f per second", t.Speed)
	}
	text += fmt.Sprintf("; %s of %s of the prompt restored", control.Grouped(t.Restored),
		control.Plural(t.Restored+t.Read, "token"))
	if a.FinishReason == "length" {
		text += "; stopped at the limit"
	}
	return text
}
