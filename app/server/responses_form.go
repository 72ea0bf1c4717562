package server

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine"
)

// A responseForm is the form of OpenAI's responses: one object with a list of items,
// or events that tell how these grow. It is of one request.
type responseForm struct {
	serverSent
	req    *responseRequest
	events *itemEvents // nil for a response in one piece
}

func (*responseForm) idPrefix() string { return responsePrefix }

// The states of a response, and of its items.
const (
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
	failed     = "failed"
)

// whole implements form. The response is kept before it is answered.
func (f *responseForm) whole(r *reply) []byte { return f.final(r) }

// final returns the response as it is at its end.
func (f *responseForm) final(r *reply) []byte {
	store := f.req.store
	b := f.appendResponse(nil, r, state(r.choices[0]), store, nil)
	if store && !f.keep(r, b) {
		b = f.appendResponse(nil, r, state(r.choices[0]), false, nil)
	}
	return b
}

// keep stores the response, and reports whether it could.
func (f *responseForm) keep(r *reply, response []byte) bool {
	u, c := r.run, r.choices[0]
	if u.key < 0 {
		return false
	}
	input, err := storedItems(f.req.own, r.id, len(c.answer.blocks)+1)
	if err == nil {
		k := control.KeptResponse{ID: r.id, Owner: caller(u.ctx), Previous: f.req.previous, Run: u.key, Input: input}
		if err = keepAnswer(&k, response); err == nil {
			err = f.req.to.kept.KeepResponse(context.WithoutCancel(u.ctx), k)
		}
	}
	if err != nil && !errors.Is(err, control.ErrNoResponse) {
		f.req.to.log.Error("a response cannot be kept", "run", u.key, "err", err)
	}
	return err == nil
}

// state is that of a response whose choice has ended.
func state(c *choice) string {
	if c.finish == engine.FinishLength {
		return incomplete
	}
	return completed
}

// appendResponse appends the object. Before its end it has no items, and before the model
// is there it tells of the sampling what was asked for.
func (f *responseForm) appendResponse(dst []byte, r *reply, status string, store bool, fail *failure) []byte {
	q, sampling := f.req, f.req.request(nil, model.Defaults{}, 0).Sampling
	if r.choices != nil {
		sampling = r.choices[0].req.Sampling
	}
	member := func(name string) { dst = append(appendString(append(dst, ','), name), ':') }
	value := func(name string, v any) { dst = appendMember(dst, name, v) }
	asked := func(name, otherwise string) { // as the client wrote it
		member(name)
		if v := q.body[name]; v != nil && string(v) != "null" {
			dst = append(dst, v...)
			return
		}
		dst = append(dst, otherwise...)
	}
	dst = appendString(append(dst, `{"id":`...), r.id)
	value("object", "response")
	value("created_at", r.created)
	value("status", status)
	value("background", false)
	if status == completed {
		value("completed_at", max(r.created, time.Now().Unix()))
	} else {
		value("completed_at", nil)
	}
	if fail != nil {
		value("error", map[string]string{"code": responseCode(fail), "message": fail.body.Message})
	} else {
		value("error", nil)
	}
	if status == incomplete {
		value("incomplete_details", map[string]string{"reason": "max_output_tokens"})
	} else {
		value("incomplete_details", nil)
	}
	asked("instructions", "null")
	asked("max_output_tokens", "null")
	value("max_tool_calls", nil)
	value("model", r.name())
	member("output")
	dst = append(dst, '[')
	if status == completed || status == incomplete {
		dst = f.appendItems(dst, r, r.choices[0])
	}
	dst = append(dst, ']')
	asked("parallel_tool_calls", "true")
	asked("previous_response_id", "null")
	asked("prompt_cache_key", "null")
	asked("safety_identifier", "null")
	asked("user", "null")
	value("presence_penalty", sampling.PresencePenalty)
	value("frequency_penalty", sampling.FrequencyPenalty)
	value("reasoning", map[string]any{"effort": textOrNull(q.thinking.effort), "summary": nil})
	value("service_tier", "default")
	value("store", store)
	value("temperature", sampling.Temperature)
	member("text")
	dst = q.appendText(dst)
	member("tool_choice")
	dst = append(dst, q.offers.choice...)
	member("tools")
	dst = append(dst, q.offers.shown...)
	value("top_logprobs", q.topLogprobs)
	value("top_p", sampling.TopP)
	value("truncation", "disabled")
	asked("metadata", "{}")
	if status == completed || status == incomplete {
		value("usage", responseUsageOf(r))
		value("timings", r.timings())
	} else {
		value("usage", nil)
	}
	return append(dst, '}')
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// appendText writes what was asked for of the text.
func (q *responseRequest) appendText(dst []byte) []byte {
	format := json.RawMessage(`{"type":"text"}`)
	var text struct {
		Format    json.RawMessage `json:"format"`
		Verbosity *string         `json:"verbosity"`
	}
	if v := q.body["text"]; v != nil && json.Unmarshal(v, &text) == nil && text.Format != nil && string(text.Format) != "null" {
		format = text.Format
	}
	dst = append(append(dst, `{"format":`...), format...)
	dst = appendString(append(dst, `,"verbosity":`...), first("medium", text.Verbosity))
	return append(dst, '}')
}

// responseUsage is usage as responses have it.
type responseUsage struct {
	InputTokens        int `json:"input_tokens"`
	InputTokensDetails struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"` // which are charged for elsewhere
	} `json:"input_tokens_details"`
	OutputTokens        int `json:"output_tokens"`
	OutputTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int `json:"total_tokens"`
}

func responseUsageOf(r *reply) (u responseUsage) {
	t := r.total()
	u.InputTokens, u.OutputTokens, u.TotalTokens = t.PromptTokens, t.CompletionTokens, t.PromptTokens+t.CompletionTokens
	u.InputTokensDetails.CachedTokens = t.CachedTokens
	u.OutputTokensDetails.ReasoningTokens = t.thoughts
	return u
}

// responseCode is what responses call an error.
func responseCode(f *failure) string {
	if f.status >= 500 {
		return "server_error"
	}
	return f.body.Code
}

// silent is what an answer without any words consists of.
var silent = &block{kind: dialect.Text}

// blocks are those of an answer, of which there is one at least.
func (f *responseForm) blocks(c *choice) (list []*block) {
	for i := range c.answer.blocks {
		list = append(list, &c.answer.blocks[i])
	}
	if list == nil {
		list = []*block{silent}
	}
	return list
}

// appendItems appends the items of an answer at its end.
func (f *responseForm) appendItems(dst []byte, r *reply, c *choice) []byte {
	list := f.blocks(c)
	for i, b := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.appendItem(dst, r, i, b, ended(c, b, i == len(list)-1))
	}
	return dst
}

// ended is the state of an item whose answer has ended, or goes on behind it.
func ended(c *choice, b *block, last bool) string {
	if b.kind == dialect.Call && !b.args.whole || last && b.kind != dialect.Call && c.finish == engine.FinishLength {
		return incomplete
	}
	return completed
}

// appendItem appends an item, which is empty while it is in progress.
func (f *responseForm) appendItem(dst []byte, r *reply, i int, b *block, status string) []byte {
	dst = appendString(append(dst, `{"id":`...), blockID(r, i, b))
	switch b.kind {
	case dialect.Call:
		dst = appendString(append(dst, `,"type":"function_call","status":`...), status)
		dst = appendString(append(dst, `,"call_id":`...), callPrefix+b.id)
		dst = f.appendName(dst, b.name)
		text := string(b.text)
		if status == inProgress {
			text = ""
		}
		return append(appendString(append(dst, `,"arguments":`...), text), '}')
	case dialect.Reasoning:
		dst = appendString(append(dst, `,"type":"reasoning","status":`...), status)
		dst = append(dst, `,"summary":[],"encrypted_content":null,"content":[`...)
		if status != inProgress {
			dst = f.appendPart(dst, r, b, string(b.text), b.toks)
		}
	default:
		dst = appendString(append(dst, `,"type":"message","status":`...), status)
		dst = append(dst, `,"role":"assistant","content":[`...)
		if status != inProgress {
			dst = f.appendPart(dst, r, b, string(b.text), b.toks)
		}
	}
	return append(dst, "]}"...)
}

func blockID(r *reply, i int, b *block) string {
	prefix := "msg_"
	switch b.kind {
	case dialect.Call:
		prefix = "fc_"
	case dialect.Reasoning:
		prefix = "rs_"
	}
	return itemIDOf(r.id, prefix, i)
}

// appendName appends a call's name, and its namespace if the tool is in one.
func (f *responseForm) appendName(dst []byte, name string) []byte {
	if s, ok := f.req.offers.spaces[name]; ok {
		dst = appendString(append(dst, `,"namespace":`...), s.space)
		name = s.name
	}
	return appendString(append(dst, `,"name":`...), name)
}

// appendPart appends what an item of text or of reasoning has.
func (f *responseForm) appendPart(dst []byte, r *reply, b *block, text string, toks []engine.Token) []byte {
	if b.kind == dialect.Reasoning {
		return append(appendString(append(dst, `{"type":"reasoning_text","text":`...), text), '}')
	}
	dst = appendString(append(dst, `{"type":"output_text","text":`...), text)
	dst = append(dst, `,"annotations":[],"logprobs":`...)
	return append(f.appendLogprobs(dst, r, toks), '}')
}

// appendLogprobs appends those of text.
func (f *responseForm) appendLogprobs(dst []byte, r *reply, toks []engine.Token) []byte {
	if !f.req.logprobs {
		return append(dst, "[]"...)
	}
	return appendLogprobs(dst, r.model.Tokenizer(), toks)
}

func appendIndex(dst []byte, name string, i int) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return strconv.AppendInt(dst, int64(i), 10)
}
