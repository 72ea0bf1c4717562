package responses

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
)

// A compactionRequest is the body of /v1/responses/compact. The model sums up the conversation, so
// that a client can go on with less: with the user's messages and the summary.
type compactionRequest struct{ *responseRequest }

// sumUp asks the model for the summary, after the conversation.
const sumUp = "Sum up our conversation so far, so that it can continue from your summary alone. Say " +
	"what was asked and decided, what was done and found, with names, paths and numbers, and " +
	"what is still open. Write the summary and nothing else."

// maxSummary limits a summary, in tokens. It is to be shorter than what it sums up.
const maxSummary = 2048

func (v Routes) readCompaction(f *wire.Fields) (api.Request, error) {
	c := v.newRequest(f.As(compactRequestShape))
	c.Model = f.String("model")
	c.N, c.store = 1, false
	c.MaxTokens = new(maxSummary)
	c.Thinking.On = new(false)
	c.closing = sumUp
	c.offers.chosen.Mode = "none"
	c.instructions, c.previous = f.String("instructions"), f.String("previous_response_id")
	c.readInput(f, false)
	return compactionRequest{c}, f.Err()
}

func (c compactionRequest) Format() api.ReplyFormat { return compactionFormat{req: c} }

// A compactionFormat is the form of a summary, which comes in one piece.
type compactionFormat struct {
	wire.ServerSent
	req compactionRequest
}

func (compactionFormat) IDPrefix() string { return ResponsePrefix }

// Stream implements api.ReplyFormat. No request asks for it.
func (compactionFormat) Stream(*api.Reply, *wire.EventStream) api.Events { return nil }

func (f compactionFormat) Whole(r *api.Reply) any {
	output := f.req.kept(r.ID)
	output = append(output, wire.Encode(summaryItem{
		ID: itemIDOf(r.ID, "cmp_", len(output)), Type: compactionItem,
		EncryptedContent: packSummary(r.Choices[0].Answer.Joined(dialect.Text)),
	}))
	return compaction{ID: r.ID, Object: "response.compaction", CreatedAt: r.Created,
		Model: r.Name(), Output: output, Usage: responseUsageOf(r), Timings: r.Timings()}
}

// A compaction is the answer of /v1/responses/compact.
type compaction struct {
	_         struct{}          `schema:"Compaction"`
	ID        string            `json:"id"`
	Object    string            `json:"object" enum:"response.compaction"`
	CreatedAt int64             `json:"created_at" doc:"Unix seconds."`
	Model     string            `json:"model" doc:"The id."`
	Output    []json.RawMessage `json:"output" doc:"The user's messages and the tools of items, then the summary; the input of what follows."`
	Usage     ResponseUsage     `json:"usage"`
	Timings   api.Timings       `json:"timings"`
}

// A summaryItem is the item with a summary.
type summaryItem struct {
	EncryptedContent string `json:"encrypted_content"`
	ID               string `json:"id"`
	Type             string `json:"type"`
}

// kept returns the user's messages, and the tools that items brought, in the form of stored items.
func (c compactionRequest) kept(response string) (list []json.RawMessage) {
	var own []json.RawMessage
	for _, v := range c.items {
		f, err := wire.ParseFields(v, "")
		if err != nil {
			continue
		}
		switch kind := itemType(f); {
		case kind == "message" && f.String("role") == "user", kind == additionalTools:
			own = append(own, v)
		case kind == foundTools && f.Raw("tools") != nil: // its search is summed up
			own = append(own, wire.Members{{Key: "type", Value: wire.Quote(additionalTools)},
				{Key: "role", Value: wire.Quote("developer")}, {Key: "tools", Value: f.Raw("tools")}}.JSON())
		}
	}
	stored, err := storedItems(own, response, 0)
	if err != nil || json.Unmarshal(stored, &list) != nil {
		return nil // they were read before
	}
	return list
}

const (
	// compactionItem is the type of the item with a summary.
	compactionItem = "compaction"
	// compactionTrigger is the type of an item that asks for a summary in the answer.
	compactionTrigger = "compaction_trigger"
)

// summaryMark begins the content of our own summaries. It is not encrypted: it never leaves this
// machine's clients.
const summaryMark = "tandem."

func packSummary(text string) string {
	return summaryMark + base64.RawURLEncoding.EncodeToString([]byte(text))
}

// addCompaction reads a summary. It skips one of another server: only that server can read it.
func (c *responseRequest) addCompaction(f *wire.Fields) {
	packed, ok := strings.CutPrefix(f.String("encrypted_content"), summaryMark)
	if !ok {
		c.skip(compactionItem)
		return
	}
	text, err := base64.RawURLEncoding.DecodeString(packed)
	if err != nil {
		f.Fail("encrypted_content", "is no summary of this server's; send it as it was answered.")
		return
	}
	c.Messages = append(c.Messages,
		api.NewMessage("user", "This was said before, summed up:\n"+string(text)))
}
