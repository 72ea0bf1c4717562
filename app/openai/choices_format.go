package openai

import (
	"sync"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

// A choicesFormat is the form of OpenAI's chat completions and of the older completions. It is one
// object with a list of choices, or chunks of it.
type choicesFormat struct {
	wire.ServerSent
	objects
}

// objects make the objects in which the two differ.
type objects interface {
	IDPrefix() string
	// Whole returns the whole answer.
	Whole(r *api.Reply) any
	// chunk returns the chunk with a piece of the answer.
	chunk(r *api.Reply, p piece) any
	// opens reports whether a choice has a first chunk, before those of its tokens.
	opens(c *api.Choice) bool
	// scored returns the new tokens whose log-probabilities are sent.
	scored(c *api.Choice, toks []engine.Token) []engine.Token
	// reason returns why a choice ended.
	reason(c *api.Choice) string
}

// A piece is what a chunk adds to the answer.
type piece struct {
	choice *api.Choice    // nil for a chunk that has only figures
	first  bool           // of the choice
	part   dialect.Part   // empty in the first and the last piece
	scored []engine.Token // with log-probabilities; nil for null
	runes  *int           // of the choice's text before
	finish *string        // of the last piece
	extras
	figures
}

// extras are what a request can ask for in each choice, beyond OpenAI's fields.
type extras struct {
	PromptTokenIDs []int32 `json:"prompt_token_ids,omitzero"`
	TokenIDs       []int32 `json:"token_ids,omitzero"`
	Draft          *draft  `json:"draft,omitempty"`
}

// A draft is what return_draft_info adds. A chunk has what was proposed and accepted since the chunk
// before. A whole choice, and the last chunk of a choice, also have its rounds: parallel lists, with
// 0 for a plain round.
type draft struct {
	_        struct{} `schema:"Draft"`
	Proposed int      `json:"proposed"`
	Accepted int      `json:"accepted"`
	Depths   []int    `json:"depths,omitzero"`
	Accepts  []int    `json:"accepts,omitzero"`
}

// addRounds adds the rounds of a choice that has ended.
func (d *draft) addRounds(c *api.Choice) {
	d.Depths, d.Accepts = append([]int{}, c.Stats.Depths...), append([]int{}, c.Stats.Accepts...)
}

// extrasOf returns the extras of a whole choice.
func extrasOf(r *api.Reply, c *api.Choice) (x extras) {
	if r.Params.ReturnTokenIDs {
		x.PromptTokenIDs, x.TokenIDs = c.Prompt.IDs, append([]int32{}, c.IDs...)
	}
	if r.Params.ReturnDrafts {
		x.Draft = &draft{Proposed: c.Stats.Drafted, Accepted: c.Stats.Accepted}
		x.Draft.addRounds(c)
	}
	return x
}

// figures are at the end of a chunk. Under include_usage the usage is null until the last one.
type figures struct {
	Usage   **api.Usage  `json:"usage,omitempty"`
	Timings *api.Timings `json:"timings,omitempty"`
}

func (f choicesFormat) Stream(rep *api.Reply, out *wire.EventStream) api.Events {
	k := &chunks{form: f, rep: rep, out: out, left: len(rep.Choices),
		streams: make([]choiceStream, len(rep.Choices))}
	for i, c := range rep.Choices {
		k.streams[i].runes = -c.Prompt.Lead
	}
	return k
}

// chunks are the events of a choicesFormat.
type chunks struct {
	form    choicesFormat
	rep     *api.Reply
	out     *wire.EventStream
	streams []choiceStream // by the choice's index

	mu   sync.Mutex
	left int // choices that have not ended
}

// A choiceStream is the state of one choice's chunks. Only the choice's goroutine uses it.
type choiceStream struct {
	began bool  // its first chunk is out
	draft draft // since its last chunk
	runes int   // of its text so far, for text_offset
	json  wire.Encoder
}

// Begin implements api.Events. What the first chunk says of the prompt's own tokens comes later.
func (k *chunks) Begin(c *api.Choice) {
	if !c.Req.PromptLogprobs {
		k.begin(c)
	}
}

// Add implements api.Events. Each part is a chunk. The first chunk also has the fields of the token.
// A token without a part may have a chunk too.
func (k *chunks) Add(c *api.Choice, toks []engine.Token, parts []dialect.Part) {
	k.begin(c)
	s, p := &k.streams[c.Index], k.rep.Params
	for i := range toks {
		s.draft.Proposed += toks[i].Drafted
		if toks[i].Draft {
			s.draft.Accepted++
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
		next := piece{choice: c, part: part}
		if part.Kind == dialect.Text && len(scored) > 0 {
			next.scored, scored = scored, nil
		}
		if p.ReturnTokenIDs {
			next.TokenIDs = []int32{}
			for _, t := range toks {
				next.TokenIDs = append(next.TokenIDs, t.ID)
			}
		}
		k.send(next)
		toks = nil
	}
}

// begin sends a choice's first chunk once, if the form has one.
func (k *chunks) begin(c *api.Choice) {
	if !k.streams[c.Index].began && k.form.opens(c) {
		k.send(piece{choice: c, first: true, scored: c.Scored})
	}
}

// End implements api.Events. The reply's last chunk with a choice has the timings, unless a chunk
// with the usage follows.
func (k *chunks) End(c *api.Choice) {
	k.begin(c)
	last := piece{choice: c, finish: new(k.form.reason(c))}
	if k.rep.Params.ReturnTokenIDs {
		last.TokenIDs = []int32{}
	}
	k.streams[c.Index].draft.addRounds(c)
	k.mu.Lock()
	defer k.mu.Unlock() // until it is sent: the chunk with the timings comes last
	k.left--
	if k.left == 0 && !k.rep.Params.IncludeUsage {
		last.Timings = new(k.rep.Timings())
	}
	k.send(last)
}

func (k *chunks) Finish() {
	if k.rep.Params.IncludeUsage {
		last := figures{Usage: new(new(k.rep.Usage())), Timings: new(k.rep.Timings())}
		k.rep.Send(k.out, "", wire.Encode(k.form.chunk(k.rep, piece{figures: last})))
	}
	k.rep.Release()
	k.rep.Send(k.out, "", []byte("[DONE]"))
}

// send sends a chunk of a choice, with what the request asks for in each.
func (k *chunks) send(p piece) {
	s, asked := &k.streams[p.choice.Index], k.rep.Params
	p.runes = &s.runes
	if asked.ReturnTokenIDs && !s.began {
		p.PromptTokenIDs = p.choice.Prompt.IDs
	}
	if asked.ReturnDrafts {
		p.Draft = new(s.draft)
	}
	if asked.IncludeUsage {
		p.Usage = new(*api.Usage)
	}
	s.began, s.draft = true, draft{}
	k.rep.Send(k.out, "", s.json.Encode(k.form.chunk(k.rep, p)))
}
