package responses

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// A responseForm is the form of OpenAI's responses: one object with a list of items, or the events
// of their growth. It serves one request.
type responseForm struct {
	wire.ServerSent
	req    *responseRequest
	events *itemEvents // nil for a response in one piece
}

func (*responseForm) IDPrefix() string { return ResponsePrefix }

// The states of a response and of its items.
const (
	InProgress = "in_progress"
	Completed  = "completed"
	Incomplete = "incomplete"
	failed     = "failed"
)

// Whole implements api.Form. It stores the response before the client gets it.
func (f *responseForm) Whole(r *api.Reply) []byte { return f.final(r) }

// final returns the response at its end.
func (f *responseForm) final(r *api.Reply) []byte {
	store := f.req.store
	b := f.appendResponse(nil, r, state(r.Choices[0]), store, nil)
	if store && !f.keep(r, b) {
		b = f.appendResponse(nil, r, state(r.Choices[0]), false, nil)
	}
	return b
}

// keep stores the response, and reports whether it could.
func (f *responseForm) keep(r *api.Reply, response []byte) bool {
	u, c := r.Run, r.Choices[0]
	if u.Key < 0 {
		return false
	}
	input, err := storedItems(f.req.own, r.ID, len(c.Answer.Blocks)+1)
	if err == nil {
		k := control.KeptResponse{ID: r.ID, Owner: wire.Caller(u.Ctx), Previous: f.req.previous,
			Run: u.Key, Input: input}
		if err = KeepAnswer(&k, response); err == nil {
			err = f.req.to.Kept.KeepResponse(context.WithoutCancel(u.Ctx), k)
		}
	}
	if err != nil && !errors.Is(err, control.ErrNoResponse) {
		f.req.to.Log.Error("a response cannot be kept", "run", u.Key, "err", err)
	}
	return err == nil
}

// state returns the state of a response whose choice has ended.
func state(c *api.Choice) string {
	if c.Finish == engine.FinishLength {
		return Incomplete
	}
	return Completed
}

// appendResponse appends the object. Before the end it has no items. Before the model is in memory
// it shows the sampling that the request asks for.
func (f *responseForm) appendResponse(dst []byte, r *api.Reply, status string, store bool,
	fail *wire.Failure) []byte {
	q, sampling := f.req, f.req.Request(nil, model.Defaults{}, 0).Sampling
	if r.Choices != nil {
		sampling = r.Choices[0].Req.Sampling
	}
	member := func(name string) { dst = append(wire.AppendString(append(dst, ','), name), ':') }
	value := func(name string, v any) { dst = wire.AppendMember(dst, name, v) }
	asked := func(name, otherwise string) { // in the client's spelling
		member(name)
		if v := q.body[name]; v != nil && string(v) != "null" {
			dst = append(dst, v...)
			return
		}
		dst = append(dst, otherwise...)
	}
	dst = wire.AppendString(append(dst, `{"id":`...), r.ID)
	value("object", "response")
	value("created_at", r.Created)
	value("status", status)
	value("background", false)
	if status == Completed {
		value("completed_at", max(r.Created, time.Now().Unix()))
	} else {
		value("completed_at", nil)
	}
	if fail != nil {
		value("error", map[string]string{"code": responseCode(fail), "message": fail.Body.Message})
	} else {
		value("error", nil)
	}
	if status == Incomplete {
		value("incomplete_details", map[string]string{"reason": "max_output_tokens"})
	} else {
		value("incomplete_details", nil)
	}
	asked("instructions", "null")
	asked("max_output_tokens", "null")
	value("max_tool_calls", nil)
	value("model", r.Name())
	member("output")
	dst = append(dst, '[')
	if status == Completed || status == Incomplete {
		dst = f.appendItems(dst, r, r.Choices[0])
	}
	dst = append(dst, ']')
	asked("parallel_tool_calls", "true")
	asked("previous_response_id", "null")
	asked("prompt_cache_key", "null")
	asked("safety_identifier", "null")
	asked("user", "null")
	value("presence_penalty", sampling.PresencePenalty)
	value("frequency_penalty", sampling.FrequencyPenalty)
	value("reasoning", map[string]any{"effort": textOrNull(q.Thinking.Effort), "summary": nil})
	value("service_tier", "default")
	value("store", store)
	value("temperature", sampling.Temperature)
	member("text")
	dst = q.appendText(dst)
	member("tool_choice")
	dst = append(dst, q.offers.choice...)
	member("tools")
	dst = append(dst, q.offers.shown...)
	value("top_logprobs", q.TopLogprobs)
	value("top_p", sampling.TopP)
	value("truncation", "disabled")
	asked("metadata", "{}")
	if status == Completed || status == Incomplete {
		value("usage", responseUsageOf(r))
		value("timings", r.Timings())
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

// appendText appends the text settings of the request.
func (q *responseRequest) appendText(dst []byte) []byte {
	format := json.RawMessage(`{"type":"text"}`)
	var text struct {
		Format    json.RawMessage `json:"format"`
		Verbosity *string         `json:"verbosity"`
	}
	if v := q.body["text"]; v != nil && json.Unmarshal(v, &text) == nil && text.Format != nil &&
		string(text.Format) != "null" {
		format = text.Format
	}
	dst = append(append(dst, `{"format":`...), format...)
	dst = wire.AppendString(append(dst, `,"verbosity":`...), api.First("medium", text.Verbosity))
	return append(dst, '}')
}

// ResponseUsage is the usage of a response.
type ResponseUsage struct {
	InputTokens        int `json:"input_tokens"`
	InputTokensDetails struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"` // other servers charge for these
	} `json:"input_tokens_details"`
	OutputTokens        int `json:"output_tokens"`
	OutputTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int `json:"total_tokens"`
}

func responseUsageOf(r *api.Reply) (u ResponseUsage) {
	t := r.Total()
	u.InputTokens, u.OutputTokens, u.TotalTokens = t.PromptTokens, t.CompletionTokens,
		t.PromptTokens+t.CompletionTokens
	u.InputTokensDetails.CachedTokens = t.CachedTokens
	u.OutputTokensDetails.ReasoningTokens = t.Thoughts
	return u
}

// responseCode returns the name of an error in responses.
func responseCode(f *wire.Failure) string {
	if f.Status >= 500 {
		return "server_error"
	}
	return f.Body.Code
}

// silent is the only block of an answer without words.
var silent = &api.Block{Kind: dialect.Text}

// blocks returns the blocks of an answer, at least one.
func (f *responseForm) blocks(c *api.Choice) (list []*api.Block) {
	for i := range c.Answer.Blocks {
		list = append(list, &c.Answer.Blocks[i])
	}
	if list == nil {
		list = []*api.Block{silent}
	}
	return list
}

// appendItems appends the items of an ended answer.
func (f *responseForm) appendItems(dst []byte, r *api.Reply, c *api.Choice) []byte {
	list := f.blocks(c)
	for i, b := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.appendItem(dst, r, i, b, ended(c, b, i == len(list)-1))
	}
	return dst
}

// ended returns the state of an item after its end. last says that the answer has none after it.
func ended(c *api.Choice, b *api.Block, last bool) string {
	if b.Kind == dialect.Call && !b.Args.Whole ||
		last && b.Kind != dialect.Call && c.Finish == engine.FinishLength {
		return Incomplete
	}
	return Completed
}

// appendItem appends an item. It is empty while it is in progress.
func (f *responseForm) appendItem(dst []byte, r *api.Reply, i int, b *api.Block,
	status string) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), blockID(r, i, b))
	switch b.Kind {
	case dialect.Call:
		dst = wire.AppendString(append(dst, `,"type":"function_call","status":`...), status)
		dst = wire.AppendString(append(dst, `,"call_id":`...), CallPrefix+b.ID)
		dst = f.appendName(dst, b.Name)
		text := string(b.Text)
		if status == InProgress {
			text = ""
		}
		return append(wire.AppendString(append(dst, `,"arguments":`...), text), '}')
	case dialect.Reasoning:
		dst = wire.AppendString(append(dst, `,"type":"reasoning","status":`...), status)
		dst = append(dst, `,"summary":[],"encrypted_content":null,"content":[`...)
		if status != InProgress {
			dst = f.appendPart(dst, r, b, string(b.Text), b.Tokens)
		}
	default:
		dst = wire.AppendString(append(dst, `,"type":"message","status":`...), status)
		dst = append(dst, `,"role":"assistant","content":[`...)
		if status != InProgress {
			dst = f.appendPart(dst, r, b, string(b.Text), b.Tokens)
		}
	}
	return append(dst, "]}"...)
}

func blockID(r *api.Reply, i int, b *api.Block) string {
	prefix := "msg_"
	switch b.Kind {
	case dialect.Call:
		prefix = "fc_"
	case dialect.Reasoning:
		prefix = "rs_"
	}
	return itemIDOf(r.ID, prefix, i)
}

// appendName appends a call's name, and its namespace if the tool is in one.
func (f *responseForm) appendName(dst []byte, name string) []byte {
	if s, ok := f.req.offers.spaces[name]; ok {
		dst = wire.AppendString(append(dst, `,"namespace":`...), s.space)
		name = s.name
	}
	return wire.AppendString(append(dst, `,"name":`...), name)
}

// appendPart appends the content of an item of text or of reasoning.
func (f *responseForm) appendPart(dst []byte, r *api.Reply, b *api.Block, text string,
	toks []engine.Token) []byte {
	if b.Kind == dialect.Reasoning {
		return append(wire.AppendString(append(dst, `{"type":"reasoning_text","text":`...), text),
			'}')
	}
	dst = wire.AppendString(append(dst, `{"type":"output_text","text":`...), text)
	dst = append(dst, `,"annotations":[],"logprobs":`...)
	return append(f.appendLogprobs(dst, r, toks), '}')
}

// appendLogprobs appends the log-probabilities of text.
func (f *responseForm) appendLogprobs(dst []byte, r *api.Reply, toks []engine.Token) []byte {
	if !f.req.Logprobs {
		return append(dst, "[]"...)
	}
	return api.AppendLogprobs(dst, r.Model.Tokenizer(), toks)
}

func appendIndex(dst []byte, name string, i int) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return strconv.AppendInt(dst, int64(i), 10)
}
