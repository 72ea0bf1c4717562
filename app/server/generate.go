package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tandem/app/control"
	"tandem/engine"
)

// A request is the body of one of the generating routes, read and checked as
// far as that goes without a model.
type request interface {
	common() *params
	// prompts turns the request into token ids for the model.
	prompts(Model) ([]*prompt, error)
	form() form
}

// A prompt is what one or more choices continue.
type prompt struct {
	ids  []int32
	text string // for echo

	boundaries []int // see engine.Request
	lead       int   // runes that the ids have before text: a BOS the tokenizer added

	mu   sync.Mutex
	done int // tokens that the furthest of its choices has evaluated
}

// advance notes how far a choice has come with the prompt they share, and
// returns by how much it is now the furthest.
func (p *prompt) advance(done int) (more int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	more = int64(max(0, done-p.done))
	p.done += int(more)
	return more
}

// A choice is one continuation in the making. One goroutine at a time owns it.
type choice struct {
	index   int // in the reply
	prompt  *prompt
	echo    bool
	req     engine.Request
	matcher Matcher        // of req; nil for any text
	ids     []int32        // generated
	toks    []engine.Token // without a stream: all of them
	scored  []engine.Token // the prompt's, under PromptLogprobs
	runes   int            // of this choice's text so far, for text_offset; below 0 in what precedes it
	began   bool           // its first chunk is out
	buf     []byte         // its event in the making, under a stream
	draft   draftInfo      // since its last chunk, under a stream
	finish  engine.Finish
	stats   engine.Stats
	parted  *control.Parted // nil if the prompt leaves no text that was kept
}

// tokenText is the text of a token for a person.
func tokenText(tk Tokenizer, id int32) string {
	return clip(strings.ToValidUTF8(string(tk.TokenBytes(id)), "\uFFFD"))
}

// generation answers a generating route.
func (s *Server) generation(endpoint string, read func(*fields) (request, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		name, err := runName(r)
		if err != nil {
			return err
		}
		run := s.begin(r, endpoint, name)
		if run.key > 0 { // it has a row
			w.Header().Set(runHeader, strconv.FormatInt(run.key, 10))
		}
		err = errPanic // until answer returns
		defer func() { run.finish(err) }()
		err = s.answer(w, r, run, read)
		if run.began {
			return nil // the client was told as far as it listened
		}
		return err
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, run *run, read func(*fields) (request, error)) error {
	var held place
	defer held.release()
	body, err := s.readBody(w, r, &held)
	if err != nil {
		return err
	}
	f, err := parseFields(body, "")
	if err != nil {
		return err
	}
	run.setModel(clip(f.string("model")))
	req, err := read(f)
	if err != nil {
		return err
	}
	p := req.common()
	if p.seed == nil {
		p.seed = new(rand.Uint64N(1 << 53)) // exact in JSON readers whose numbers are doubles
	}
	m, err := s.acquire(run, p.model)
	if err != nil {
		return err
	}
	release := sync.OnceFunc(m.Release)
	defer release()
	choices, err := s.choices(m, req)
	defer s.loosen(choices)
	held.release()
	if err != nil {
		return err
	}
	run.promptTokens.Store(int64(countPrompts(choices)))
	rep := &reply{id: newID(req.form().idPrefix()), created: run.row.StartedAt.Unix(), model: m, release: release, run: run, params: p, form: req.form(), choices: choices}
	run.reply = rep
	switch {
	case p.resumes != nil:
		body, run.row.Client = p.resumes.body, p.resumes.client
	case reading(run.row.Endpoint) == nil:
		body = nil
	}
	s.keepText(rep, body)
	if p.stream {
		return s.stream(w, rep)
	}
	if err := s.generateAll(rep, func(c *choice, t engine.Token) { c.toks = append(c.toks, t) }, func(*choice) {}); err != nil {
		return err
	}
	whole := rep.whole()
	release()
	run.began = true
	w.Header().Set("Content-Type", "application/json")
	return writeWhole(w, http.StatusOK, whole)
}

func (s *Server) acquire(run *run, name string) (Model, error) {
	m, err := s.backend.Acquire(run.ctx, name)
	run.loaded()
	if cause := context.Cause(run.ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause // the backend may know no more than that
	}
	if e, ok := errors.AsType[*control.Error](err); ok && e.Param == "" {
		named := *e
		named.Param = "model"
		return nil, &named
	}
	if err != nil {
		return nil, err
	}
	run.setModel(m.ID())
	return m, nil
}

// choices lays out the continuations: those of the first prompt, then those
// of the second, as OpenAI numbers them.
func (s *Server) choices(m Model, req request) ([]*choice, error) {
	p := req.common()
	prompts, err := req.prompts(m)
	if err != nil {
		return nil, err
	}
	prediction, err := predicted(m, p.prediction)
	if err != nil {
		return nil, err
	}
	var all []*choice
	for _, prompt := range prompts {
		switch n, limit := len(prompt.ids), m.ContextLength(); {
		case n == 0:
			return nil, invalid(p.promptParam, "The field %s holds no tokens at all; send some text.", p.promptParam)
		case n > limit:
			return nil, contextError(p.promptParam, limit, strconv.Itoa(n))
		}
		if i := slices.IndexFunc(prompt.ids, func(id int32) bool { return int(id) >= m.VocabSize() }); i >= 0 {
			id := prompt.ids[i]
			return nil, invalid(p.promptParam, "The prompt holds the token %q, whose id %d the model %s does not know: its ids are below %d. Leave the token out.",
				m.TokenBytes(id), id, m.ID(), m.VocabSize())
		}
		for k := range p.n {
			c := &choice{index: len(all), prompt: prompt, echo: p.keepPrompt, runes: -prompt.lead, req: p.request(prompt.ids, m.Defaults(), k)}
			c.req.Boundaries = prompt.boundaries
			c.req.Prediction = prediction
			all = append(all, c)
		}
	}
	if p.grammar != nil {
		for _, c := range all {
			if c.matcher, err = m.Matcher(*p.grammar); err != nil {
				return all, badGrammar(err)
			}
			c.req.Grammar = c.matcher
		}
	}
	if p.resumes != nil {
		return all, p.resumes.apply(m, all[0])
	}
	return all, nil
}

// predicted returns the tokens of a prediction, which is plain text. Ids that
// the model does not know cannot come.
func predicted(m Model, text string) ([]int32, error) {
	if text == "" {
		return nil, nil
	}
	limit := m.ContextLength()
	tooLong := invalid("prediction.content", "prediction.content is longer than the model's whole context of %d tokens; send a shorter one, or none.", limit)
	if len(text) > limit*m.LongestToken() {
		return nil, tooLong
	}
	ids, err := m.EncodePlain(text)
	if err != nil {
		return nil, err
	}
	if len(ids) > limit {
		return nil, tooLong
	}
	return slices.DeleteFunc(ids, func(id int32) bool { return int(id) >= m.VocabSize() }), nil
}

// checkLength refuses a text of n bytes that cannot fit before it is
// tokenized, which takes time and memory by its length.
func checkLength(m Model, param string, n int) error {
	longest := m.LongestToken()
	if limit := m.ContextLength(); n > limit*longest {
		return contextError(param, limit, fmt.Sprintf("at least %d", (n+longest-1)/longest))
	}
	return nil
}

// countPrompts counts the tokens of each prompt once.
func countPrompts(choices []*choice) int {
	n, last := 0, (*prompt)(nil)
	for _, c := range choices {
		if c.prompt != last {
			n, last = n+len(c.prompt.ids), c.prompt
		}
	}
	return n
}

// generateAll runs every choice, a few at a time. token and end are called on
// the choices' own goroutines; end only for a choice that ended well. The
// first error cancels the rest and is returned.
func (s *Server) generateAll(rep *reply, token func(*choice, engine.Token), end func(*choice)) error {
	ctx, cancel := context.WithCancelCause(rep.run.ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for _, c := range rep.choices {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := s.generate(ctx, rep, c, token); err != nil {
				cancel(err)
				return
			}
			end(c)
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != errRunCancelled {
		return err
	}
	return nil
}

// generate runs one choice to its end. A run cancelled from the menu ends
// like one cut short by its limit: what was generated is the client's, and clients
// know no other finish for it. The timings say that it was stopped.
func (s *Server) generate(ctx context.Context, rep *reply, c *choice, token func(*choice, engine.Token)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic while generating", "panic", p, "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	run := rep.run
	c.req.Run = max(0, run.key)
	c.req.Done = func(st engine.Stats) {
		c.stats = st
		if p := st.Parted; p != nil { // the model may be gone when the row is written
			c.parted = &control.Parted{At: st.Matched, Kept: tokenText(rep.model, p.Kept), Given: tokenText(rep.model, p.Given), Answer: p.Answer}
		}
	}
	c.req.Progress = func(done, _ int) {
		run.promptDone.Add(c.prompt.advance(done))
	}
	for t, err := range rep.model.Generate(ctx, c.req) {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return generateError(err, rep, c)
		}
		if t.Finish != "" {
			c.finish = t.Finish
		}
		if t.Prompt {
			c.scored = append(c.scored, t)
			continue
		}
		run.token(t)
		c.ids = append(c.ids, t.ID)
		token(c, t)
	}
	if c.finish == "" {
		c.finish = engine.FinishLength
	}
	if err := context.Cause(ctx); err != errRunCancelled {
		return err
	}
	return nil
}

// generateError gives the engine's refusals the fields and numbers they have here.
func generateError(err error, rep *reply, c *choice) error {
	e, ok := errors.AsType[*engine.Error](err)
	if !ok {
		return err
	}
	switch e.Code {
	case engine.CodeContextLength:
		return contextError(rep.params.promptParam, rep.model.ContextLength(), strconv.Itoa(len(c.prompt.ids)))
	case engine.CodeInvalid:
		// The engine begins with the field, as the API spells it.
		param, _, _ := strings.Cut(e.Message, " ")
		if !slices.Contains(samplingFields, param) {
			param = ""
		}
		return &control.Error{Code: control.CodeInvalid, Param: param, Message: e.Message, Err: err}
	}
	return err
}

// samplingFields are those the engine checks.
var samplingFields = []string{"speculation.drafter", "speculation.depth", "speculation.rollback", "speculation.rule", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "logit_bias", "stop"}
