package openai

import (
	"strconv"
	"sync"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// A choicesForm is the form of OpenAI's chat completions and of the older completions. It is one
// object with a list of choices, or chunks of it.
type choicesForm struct {
	wire.ServerSent
	members
}

// members are the parts in which the two differ. Methods that append begin and end with a member,
// without a comma outside.
type members interface {
	IDPrefix() string
	Object(chunk bool) string
	// appendWhole appends the text of a choice.
	appendWhole(dst []byte, c *api.Choice) []byte
	// appendPart appends what a part adds to that text.
	appendPart(dst []byte, c *api.Choice, p dialect.Part) []byte
	// appendBegin and appendEnd append this member for a choice's first and last chunk. If
	// appendBegin appends nothing, there is no first chunk.
	appendBegin(dst []byte, c *api.Choice) []byte
	appendEnd(dst []byte) []byte
	// scored returns the new tokens whose log-probabilities are sent.
	scored(c *api.Choice, toks []engine.Token) []engine.Token
	appendLogprobs(dst []byte, tk model.Tokenizer, c *api.Choice, toks []engine.Token) []byte
	// reason returns why a choice ended.
	reason(c *api.Choice) string
}

// Whole implements api.Form.
func (f choicesForm) Whole(r *api.Reply) []byte {
	b := f.appendHead(nil, r, false)
	for i, c := range r.Shown() {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.appendChoice(b, r, c)
	}
	b = append(b, ']')
	b = wire.AppendMember(b, "usage", r.Usage())
	b = wire.AppendMember(b, "timings", r.Timings())
	return append(b, '}')
}

// appendHead appends everything before the first choice.
func (f choicesForm) appendHead(dst []byte, r *api.Reply, chunk bool) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), r.ID)
	dst = wire.AppendString(append(dst, `,"object":`...), f.Object(chunk))
	dst = strconv.AppendInt(append(dst, `,"created":`...), r.Created, 10)
	dst = wire.AppendString(append(dst, `,"model":`...), r.Name())
	return append(dst, `,"choices":[`...)
}

func (f choicesForm) appendChoice(dst []byte, r *api.Reply, c *api.Choice) []byte {
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(c.Index), 10)
	dst = f.appendWhole(append(dst, ','), c)
	dst = append(dst, `,"logprobs":`...)
	if r.Params.Logprobs {
		dst = f.appendLogprobs(dst, r.Model.Tokenizer(), c,
			f.scored(c, append(c.Scored, c.Tokens...)))
	} else {
		dst = append(dst, "null"...)
	}
	dst = wire.AppendString(append(dst, `,"finish_reason":`...), f.reason(c))
	if r.Params.ReturnTokenIDs {
		dst = wire.AppendInts(append(dst, `,"prompt_token_ids":`...), c.Prompt.IDs)
		dst = wire.AppendInts(append(dst, `,"token_ids":`...), c.IDs)
	}
	if r.Params.ReturnDrafts {
		dst = wire.AppendMember(dst, "draft",
			api.DraftInfo{Proposed: c.Stats.Drafted, Accepted: c.Stats.Accepted,
				Rounds: c.Rounds()})
	}
	return append(dst, '}')
}

// Stream implements api.Form.
func (f choicesForm) Stream(rep *api.Reply, out *wire.EventStream) api.Events {
	return &chunks{form: f, rep: rep, out: out, left: len(rep.Choices),
		head: f.appendHead(nil, rep, true)}
}

// chunks are the events of a choicesForm.
type chunks struct {
	form choicesForm
	rep  *api.Reply
	out  *wire.EventStream
	head []byte

	mu   sync.Mutex
	left int // choices that have not ended
}

// Begin implements api.Events. What the first chunk says of the prompt's own tokens comes later.
func (k *chunks) Begin(c *api.Choice) {
	if !c.Req.PromptLogprobs {
		k.begin(c)
	}
}

// Add implements api.Events. Each part is a chunk. The first chunk also has the members of the
// token. A token without a part may have a chunk too.
func (k *chunks) Add(c *api.Choice, toks []engine.Token, parts []dialect.Part) {
	k.begin(c)
	p := k.rep.Params
	for i := range toks {
		c.Draft.Proposed += toks[i].Drafted
		if toks[i].Draft {
			c.Draft.Accepted++
		}
	}
	var scored []engine.Token
	if p.Logprobs {
		scored = k.form.scored(c, toks)
	}
	if len(parts) == 0 && (len(scored) > 0 || len(toks) > 0 && p.ReturnTokenIDs) {
		parts = []dialect.Part{{Kind: dialect.Text}}
	}
	for _, part := range parts {
		k.open(c)
		c.Buf = k.form.appendPart(c.Buf, c, part)
		c.Buf = append(c.Buf, `,"logprobs":`...)
		if part.Kind == dialect.Text && len(scored) > 0 {
			c.Buf = k.form.appendLogprobs(c.Buf, k.rep.Model.Tokenizer(), c, scored)
			scored = nil
		} else {
			c.Buf = append(c.Buf, "null"...)
		}
		c.Buf = append(c.Buf, `,"finish_reason":null`...)
		if p.ReturnTokenIDs {
			c.Buf = k.appendPromptIDs(c.Buf, c)
			c.Buf = append(c.Buf, `,"token_ids":[`...)
			if len(toks) > 0 {
				c.Buf = strconv.AppendInt(c.Buf, int64(toks[0].ID), 10)
			}
			c.Buf = append(c.Buf, ']')
		}
		k.close(c, "")
		toks = nil
	}
}

// begin sends a choice's first chunk once, if the form has one.
func (k *chunks) begin(c *api.Choice) {
	if c.Began {
		return
	}
	k.open(c)
	n := len(c.Buf)
	if c.Buf = k.form.appendBegin(c.Buf, c); len(c.Buf) == n {
		return
	}
	c.Buf = append(c.Buf, `,"logprobs":`...)
	if len(c.Scored) > 0 {
		c.Buf = k.form.appendLogprobs(c.Buf, k.rep.Model.Tokenizer(), c, c.Scored)
	} else {
		c.Buf = append(c.Buf, "null"...)
	}
	c.Buf = append(c.Buf, `,"finish_reason":null`...)
	if k.rep.Params.ReturnTokenIDs {
		c.Buf = k.appendPromptIDs(c.Buf, c)
	}
	k.close(c, "")
}

// appendPromptIDs adds the prompt to a choice's first chunk.
func (k *chunks) appendPromptIDs(dst []byte, c *api.Choice) []byte {
	if c.Began {
		return dst
	}
	return wire.AppendInts(append(dst, `,"prompt_token_ids":`...), c.Prompt.IDs)
}

// End implements api.Events. The reply's last chunk with a choice has the timings, unless a chunk
// with the usage follows.
func (k *chunks) End(c *api.Choice) {
	k.begin(c)
	k.open(c)
	c.Buf = k.form.appendEnd(c.Buf)
	c.Buf = wire.AppendString(append(c.Buf, `,"logprobs":null,"finish_reason":`...),
		k.form.reason(c))
	if k.rep.Params.ReturnTokenIDs {
		c.Buf = k.appendPromptIDs(c.Buf, c)
		c.Buf = append(c.Buf, `,"token_ids":[]`...)
	}
	c.Draft.Rounds = c.Rounds()
	k.mu.Lock()
	defer k.mu.Unlock() // until it is sent: the chunk with the timings comes last
	k.left--
	if k.left == 0 && !k.rep.Params.IncludeUsage {
		k.close(c, string(wire.AppendMember(nil, "timings", k.rep.Timings())))
		return
	}
	k.close(c, "")
}

// Finish implements api.Events.
func (k *chunks) Finish() {
	if k.rep.Params.IncludeUsage {
		b := append(append([]byte(nil), k.head...), ']')
		b = wire.AppendMember(b, "usage", k.rep.Usage())
		b = wire.AppendMember(b, "timings", k.rep.Timings())
		k.rep.Send(k.out, "", append(b, '}'))
	}
	k.rep.Release()
	k.rep.Send(k.out, "", []byte("[DONE]"))
}

// open starts an event with one choice in the choice's buffer.
func (k *chunks) open(c *api.Choice) {
	c.Buf = append(append(c.Buf[:0], k.head...), `{"index":`...)
	c.Buf = append(strconv.AppendInt(c.Buf, int64(c.Index), 10), ',')
}

// close sends the event. extra has members that follow the choices.
func (k *chunks) close(c *api.Choice, extra string) {
	if k.rep.Params.ReturnDrafts {
		c.Buf = wire.AppendMember(c.Buf, "draft", c.Draft)
		c.Draft = api.DraftInfo{}
	}
	c.Buf = append(append(c.Buf, "}]"...), extra...)
	if k.rep.Params.IncludeUsage {
		c.Buf = append(c.Buf, `,"usage":null`...)
	}
	c.Buf = append(c.Buf, '}')
	c.Began = true
	k.rep.Send(k.out, "", c.Buf)
}
