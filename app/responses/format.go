package responses

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// A responseFormat is the form of OpenAI's responses: one object with a list of items, or the events
// of their growth. It serves one request.
type responseFormat struct {
	wire.ServerSent
	req    *responseRequest
	events *itemEvents // nil for a response in one piece
}

func (*responseFormat) IDPrefix() string { return ResponsePrefix }

// The states of a response and of its items.
const (
	InProgress = "in_progress"
	Completed  = "completed"
	Incomplete = "incomplete"
	failed     = "failed"
)

func (f *responseFormat) Whole(r *api.Reply) any { return f.final(r) }

// final returns the response at its end. It stores the response before the client gets it.
func (f *responseFormat) final(r *api.Reply) response {
	out := f.response(r, state(r.Choices[0]), nil)
	out.Store = f.req.store && f.keep(r, wire.Encode(out))
	return out
}

// keep stores the response, and reports whether it could.
func (f *responseFormat) keep(r *api.Reply, response []byte) bool {
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

// response returns the response in a state. Before the model is in memory it shows the sampling that
// the request asks for.
func (f *responseFormat) response(r *api.Reply, status string, fail *wire.Failure) response {
	q, sampling := f.req, f.req.Request(nil, model.Defaults{}, 0).Sampling
	if r.Choices != nil {
		sampling = r.Choices[0].Req.Sampling
	}
	truncation := "disabled"
	if q.Truncate {
		truncation = "auto"
	}
	out := response{
		ID: r.ID, Object: "response", CreatedAt: r.Created, Status: status, Model: r.Name(),
		Instructions:       asked[*string](q, "instructions", nil),
		MaxOutputTokens:    q.MaxTokens,
		Output:             []outputItem{},
		ParallelToolCalls:  asked(q, "parallel_tool_calls", true),
		PreviousResponseID: asked[*string](q, "previous_response_id", nil),
		PromptCacheKey:     wire.Raw(q.fields.Values["prompt_cache_key"]),
		SafetyIdentifier:   wire.Raw(q.fields.Values["safety_identifier"]),
		User:               wire.Raw(q.fields.Values["user"]),
		PresencePenalty:    sampling.PresencePenalty,
		FrequencyPenalty:   sampling.FrequencyPenalty,
		Reasoning:          responseReasoning{Effort: textOrNull(q.Thinking.Effort)},
		ServiceTier:        "default",
		Store:              q.store,
		Temperature:        sampling.Temperature,
		Text:               q.textSettings(),
		ToolChoice:         wire.Raw(q.offers.choice),
		Tools:              q.offers.shown,
		TopLogprobs:        q.TopLogprobs,
		TopP:               sampling.TopP,
		Truncation:         truncation,
		Metadata:           metadata(asked(q, "metadata", json.RawMessage("{}"))),
	}
	if fail != nil {
		out.Error = &responseError{responseCode(fail), fail.Body.Message}
	}
	switch status {
	case Completed:
		out.CompletedAt = new(max(r.Created, time.Now().Unix()))
	case Incomplete:
		out.IncompleteDetails = &incompleteDetails{"max_output_tokens"}
	default:
		return out
	}
	out.Output = f.items(r, r.Choices[0])
	out.Usage, out.Timings = new(responseUsageOf(r)), new(r.Timings())
	return out
}

// asked returns a field of the request, or otherwise if it is absent or null.
func asked[T any](q *responseRequest, name string, otherwise T) T {
	if v := q.fields.Values[name]; v != nil && string(v) != "null" {
		_ = json.Unmarshal(v, &otherwise) // it was read before
	}
	return otherwise
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// textSettings returns the text settings of the request.
func (q *responseRequest) textSettings() responseText {
	var text struct {
		Format    json.RawMessage `json:"format"`
		Verbosity *string         `json:"verbosity"`
	}
	out := responseText{Format: wire.RawObject(`{"type":"text"}`)}
	if v := q.fields.Values["text"]; v != nil && json.Unmarshal(v, &text) == nil && text.Format != nil &&
		string(text.Format) != "null" {
		out.Format = wire.RawObject(text.Format)
	}
	out.Verbosity = api.First("medium", text.Verbosity)
	return out
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

// blocks returns the blocks of an answer that have an item, at least one.
func (f *responseFormat) blocks(c *api.Choice) (list []*api.Block) {
	for i := range c.Answer.Blocks {
		if b := &c.Answer.Blocks[i]; f.hasItem(b) {
			list = append(list, b)
		}
	}
	if list == nil {
		list = []*api.Block{silent}
	}
	return list
}

// hasItem reports whether a block has an item. A call that was cut, the last block, may have none.
func (f *responseFormat) hasItem(b *api.Block) bool {
	if b.Kind != dialect.Call || b.Args.Whole {
		return true
	}
	begun := f.tool(b).kind.begun
	return begun == nil || begun(b.Text)
}

// items returns the items of an ended answer.
func (f *responseFormat) items(r *api.Reply, c *api.Choice) (items []outputItem) {
	list := f.blocks(c)
	for i, b := range list {
		items = append(items, f.item(r, i, b, f.ended(c, b, i == len(list)-1)))
	}
	return items
}

// ended returns the state of an item after its end. last says that the answer has none after it.
func (f *responseFormat) ended(c *api.Choice, b *api.Block, last bool) string {
	isCall := b.Kind == dialect.Call
	switch {
	case isCall && !b.Args.Whole && f.tool(b).kind.begun != nil:
		return InProgress
	case isCall && !b.Args.Whole, !isCall && last && c.Finish == engine.FinishLength:
		return Incomplete
	}
	return Completed
}

// item returns an item. It is empty while it is in progress.
func (f *responseFormat) item(r *api.Reply, i int, b *api.Block, status string) outputItem {
	id, content := f.blockID(r, i, b), []outputPart{}
	if b.Kind == dialect.Call {
		return outputItem{f.call(id, b, status)}
	}
	if status != InProgress {
		content = append(content, f.part(r, b, string(b.Text), b.Tokens))
	}
	if b.Kind == dialect.Reasoning {
		return outputItem{reasoningItem{ID: id, Type: "reasoning", Status: status,
			Summary: []struct{}{}, Content: content}}
	}
	return outputItem{messageItem{id, "message", status, "assistant", content}}
}

// call returns the item of a call.
func (f *responseFormat) call(id string, b *api.Block, status string) any {
	tool, arguments := f.tool(b), b.Text
	k := tool.kind
	if status == InProgress {
		arguments = nil
		if k.early != nil {
			list, _ := wire.ReadMembers(api.WholeMembers(b.Text))
			late := func(m wire.Member) bool { return !slices.Contains(k.early, m.Key) }
			arguments = slices.DeleteFunc(list, late).JSON()
		}
	}
	return k.item(callHead{id, k.call, status, api.CallPrefix + b.ID}, tool.toolName, arguments)
}

func (f *responseFormat) blockID(r *api.Reply, i int, b *api.Block) string {
	prefix := "msg_"
	switch b.Kind {
	case dialect.Call:
		prefix = f.tool(b).kind.prefix
	case dialect.Reasoning:
		prefix = "rs_"
	}
	return itemIDOf(r.ID, prefix, i)
}

// tool returns the tool that is called, as the client knows it. One that may not be called now can have
// other arguments than its kind, and is a function.
func (f *responseFormat) tool(b *api.Block) knownTool {
	tool, ok := f.req.offers.known[b.Name]
	if ok && (tool.kind.accepts == nil || !b.Args.Whole || tool.kind.accepts(b.Text)) {
		return tool
	}
	return knownTool{&toolKinds[0], toolName{Name: b.Name}}
}

// part returns the content of an item of text or of reasoning.
func (f *responseFormat) part(r *api.Reply, b *api.Block, text string,
	toks []engine.Token) outputPart {
	if b.Kind == dialect.Reasoning {
		return outputPart{reasoningPart{"reasoning_text", text}}
	}
	return outputPart{textPart{"output_text", text, []struct{}{}, f.logprobs(r, toks)}}
}

// logprobs returns the log-probabilities of text, if the request asks for them.
func (f *responseFormat) logprobs(r *api.Reply, toks []engine.Token) []api.ScoredToken {
	if !f.req.Logprobs {
		return []api.ScoredToken{}
	}
	return api.ScoredTokens(r.Model.Tokenizer(), toks)
}
