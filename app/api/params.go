package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// Params are the fields that both generating routes take.
type Params struct {
	Model          string
	N              int
	bestOf         int  // continuations to compute, to return the n best; 0 if not asked for
	Several        int  // prompts; 0 if the request has one
	MaxTokens      *int // nil = what the context leaves
	Stop           []string
	ignoreEOS      bool
	speculation    engine.Speculation
	Prediction     string         // what the client expects to be generated
	Grammar        *model.Grammar // nil for any text
	GrammarParam   string         // the field that asks for it
	Thinking       Thinking
	Single         bool // one call at most
	ReturnTokenIDs bool
	ReturnDrafts   bool
	Stream         bool
	IncludeUsage   bool
	Seed           *uint64

	temperature, topP, minP  *float64
	repetition               *float64
	presence, frequency      *float64
	topK                     *int
	logitBias                map[int32]float32
	Logprobs, PromptLogprobs bool
	TopLogprobs              int
	KeepPrompt               bool   // echo
	PromptParam              string // the route's name for it, for errors

	Resumes  *resumption    // nil for a new request
	thoughts *thoughtMemory // of the client; nil if none are kept or put back
}

// Continuations returns how many continuations are computed.
func (p *Params) Continuations() int { return max(p.N, p.bestOf) * max(1, p.Several) }

// Read reads the shared fields of a request into p.
func (p *Params) Read(f *wire.Fields) {
	p.Model = f.String("model")
	p.Stream = f.Bool("stream")
	if o := f.Object("stream_options"); o != nil {
		p.IncludeUsage = o.Bool("include_usage")
	}
	p.N = 1
	if n := f.Whole("n"); n != nil {
		p.N = *n
	}
	p.ReadSampling(f, "repetition_penalty")
	p.logitBias = readLogitBias(f)
	p.Seed = ReadSeed(f, "seed")
	p.Stop = ReadStop(f, "stop")
	p.ignoreEOS = f.Bool("ignore_eos")
	p.ReturnTokenIDs = f.Bool("return_token_ids")
	p.ReturnDrafts = f.Bool("return_draft_info")
	p.speculation = readSpeculation(f)
	p.Grammar, p.GrammarParam = ReadResponseFormat(f, "response_format"),
		"response_format"
}

// ReadSampling reads the sampling parameters. key is the protocol's name for the repetition
// penalty.
func (p *Params) ReadSampling(f *wire.Fields, key string) {
	p.temperature = f.Real("temperature")
	p.topP = f.Real("top_p")
	p.minP = f.Real("min_p")
	p.topK = f.Whole("top_k")
	p.presence = f.Real("presence_penalty")
	p.frequency = f.Real("frequency_penalty")
	p.repetition = f.Real(key)
}

// ReadLimit reads a limit of tokens, or nil for none, which other servers write as -1 or -2.
func ReadLimit(f *wire.Fields, key string) *int {
	if n, ok := wire.WholeNumber(f.Raw(key)); ok && (n == -1 || n == -2) {
		delete(f.Values, key)
		return nil
	}
	return f.Whole(key)
}

// ReadSeed reads a seed, or nil for any, which other servers write as -1.
func ReadSeed(f *wire.Fields, key string) *uint64 {
	v := f.Raw(key)
	if v == nil {
		return nil
	}
	if x, err := strconv.ParseUint(string(v), 10, 64); err == nil {
		return &x
	}
	x, ok := wire.WholeNumber(v)
	if !ok {
		f.Fail(key, "must be a whole number.")
		return nil
	}
	if x == -1 {
		return nil
	}
	return new(uint64(x))
}

func ReadStop(f *wire.Fields, key string) []string {
	// An empty stop text comes from forms left blank; it stops nothing.
	stop := slices.DeleteFunc(f.Strings(key), func(s string) bool { return s == "" })
	if len(stop) > engine.MaxStops {
		f.Fail(key, "may hold %d texts, not %d.", engine.MaxStops, len(stop))
	}
	for _, s := range stop {
		if n := utf8.RuneCountInString(s); n > engine.MaxStopLength {
			f.Fail(key, "holds a text of %d characters; %d are allowed.", n, engine.MaxStopLength)
		}
	}
	return stop
}

func readLogitBias(f *wire.Fields) map[int32]float32 {
	o := f.Object("logit_bias")
	if o == nil || len(o.Values) == 0 {
		return nil
	}
	bias := make(map[int32]float32, len(o.Values))
	for key := range o.Values {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil || id < 0 {
			f.Fail("logit_bias",
				"must map token ids to numbers; %q is no token id.", wire.Clip(key))
			return nil
		}
		if x := o.Real(key); x != nil {
			bias[int32(id)] = float32(*x)
		}
	}
	return bias
}

// readSpeculation reads how to decode. The engine checks whether the model has the drafter.
func readSpeculation(f *wire.Fields) (r engine.Speculation) {
	if raw := f.Raw("speculation"); len(raw) > 0 && raw[0] == '"' {
		f.Fail("speculation", `is an object, such as {"drafter": "none"}.`)
	}
	o := f.Object("speculation")
	if o == nil {
		return r
	}
	r.Drafter = o.Word("drafter")
	r.Rollback = engine.Rollback(o.Word("rollback"))
	r.Rule = engine.Rule(o.Word("rule"))
	r.Depth = o.Whole("depth")
	r.Exact = o.Bool("exact")
	known := speculationShape.Names()
	for _, key := range slices.Sorted(maps.Keys(o.Values)) {
		if !slices.Contains(known, key) { // the protocol is ours, so any other name is a mistake
			f.Fail("speculation", "has no %q; it takes %s.", wire.Clip(key),
				control.Word(strings.Join(known, ", ")))
		}
	}
	r.Drafter = cmp.Or(r.Drafter, engine.Auto)
	return r
}

// Request returns the engine's request for one prompt. d fills the fields that the client left
// open.
func (p *Params) Request(prompt []int32, d model.Defaults, index int) engine.Request {
	r := engine.Request{
		Prompt:         prompt,
		MaxTokens:      p.MaxTokens,
		Stop:           p.Stop,
		IgnoreEOS:      p.ignoreEOS,
		Speculation:    p.speculation,
		Logprobs:       p.Logprobs,
		TopLogprobs:    p.TopLogprobs,
		PromptLogprobs: p.PromptLogprobs,
	}
	if p.Seed != nil {
		r.Seed = new(choiceSeed(*p.Seed, index))
	}
	s := &r.Sampling
	s.Temperature = First(1, p.temperature, d.Temperature)
	s.TopK = max(0, First(0, p.topK, d.TopK)) // -1 = off, as in vLLM
	s.TopP = First(1, p.topP, d.TopP)
	if s.TopP == 0 {
		// off is 0 for the engine; a client's 0 takes the likeliest
		s.TopP = math.SmallestNonzeroFloat32
	}
	s.MinP = First(0, p.minP, d.MinP)
	s.RepetitionPenalty = First(1, p.repetition, d.RepetitionPenalty)
	s.PresencePenalty = First(0, p.presence)
	s.FrequencyPenalty = First(0, p.frequency)
	s.LogitBias = p.logitBias
	return r
}

// choiceSeed returns the seed of a prompt's continuation with that index. The first has the
// request's own. SplitMix64 spreads the others, because clients count their seeds up.
func choiceSeed(seed uint64, index int) uint64 {
	if index == 0 {
		return seed
	}
	z := seed + uint64(index)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) >> 11 // exact in JSON readers whose numbers are doubles
}

// First returns the first value that is set, or otherwise.
func First[T any](otherwise T, values ...*T) T {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	return otherwise
}

// TokenIDs reads a list of token ids that the model knows. It keeps no more than the context takes.
func TokenIDs(v json.RawMessage, m model.Model, param string) ([]int32, error) {
	limit, vocab, n := m.ContextLength(), m.VocabSize(), 0
	var ids []int32
	if len(v) == 0 || v[0] != '[' {
		return nil, wire.Invalid(param, "%s must be a list of token ids.", param)
	}
	for value := range wire.EachValue(v) {
		if n++; n > limit {
			continue // the error says how many there are
		}
		id, ok := wire.WholeNumber(value)
		if !ok || id > math.MaxInt32 || id < math.MinInt32 {
			return nil, wire.Invalid(param, "%s must be a list of token ids.", param)
		}
		if id < 0 || int(id) >= vocab {
			return nil, wire.Invalid(param,
				"%s holds token id %d; the model's ids are below %d.", param, id, vocab)
		}
		ids = append(ids, int32(id))
	}
	if n > limit {
		return nil, ContextError(param, m, "", n)
	}
	return ids, nil
}
