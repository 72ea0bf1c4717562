package models_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

// A cast holds a drafter of each kind that Tandem serves, for one model. Each is right in part.
type cast struct {
	drafters []draft.Drafter
	blocks   []*steeredBlock
	head     *steeredHead
	guesser  *steeredGuesser
	memory   *recalledTexts
	free     []func() error
}

// A named DFlash has a name of its own, so that one engine can have several.
type namedDFlash struct {
	*draft.DFlash
	name string
}

func (d namedDFlash) Name() string { return d.name }

// cast loads drafters for the model:
//   - DFlash networks of both architectures with blocks of 16 rows, each with a whole head and a
//     cut one
//   - a DSpark network with such blocks and a whole head
//   - a head for multi-token prediction
//   - the model's own weights again, as a draft model
//   - an assistant of Gemma 4, if the model has layers that it can attend
//
// Each of these also goes on where a match ends. A prediction, n-grams and a memory of texts are
// there too. The caller closes the cast.
func (l *lossless) cast() *cast {
	l.t.Helper()
	config := l.bundle.Model.Config()
	vocab := config.VocabSize
	load := func(dir string) *models.Drafter {
		d, err := models.LoadDrafter(l.t.Context(), l.bundle, dir, models.DrafterSettings{},
			models.Options{})
		if err != nil {
			l.t.Fatal(err)
		}
		return d
	}
	sizes := map[string]any{"vocab_size": vocab, "hidden_size": config.HiddenSize,
		"num_target_layers": config.Layers, "block_size": 16}
	taps := []int{0, config.Layers - 1}
	first := maps.Clone(sizes)
	first["dflash_config"] = map[string]any{"mask_token_id": vocab - 1, "target_layer_ids": taps}
	head := load(enginetest.TinyHead(l.t, map[string]any{
		"vocab_size": vocab, "hidden_size": config.HiddenSize,
	}))
	// As a drafter, a folder with a head would give its head.
	twin, err := models.Load(l.t.Context(), l.th, l.dir, models.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	c := &cast{head: &steeredHead{Head: head.Head}, guesser: &steeredGuesser{vocab: vocab},
		memory: newRecalledTexts(l.t)}
	network := func(name, dir string) draft.Drafter {
		files := load(dir)
		block := &steeredBlock{Block: files.Block}
		c.blocks = append(c.blocks, block)
		var d *draft.DFlash
		enginetest.Do(l.t, l.th, func(s *mlx.Scope) (err error) {
			block.cut, err = readIDs(s, files.Block.Vocabulary())
			d = draft.NewDFlash(s, block.steered(), vocab)
			return err
		})
		c.free = append(c.free, func() error {
			return l.th.Do(context.Background(), func(*mlx.Scope) error { d.Free(); return nil })
		}, files.Close)
		return namedDFlash{d, name}
	}
	second := func() string { return enginetest.TinyDFlash2(l.t, vocab-1, taps, sizes) }
	trained := []draft.Drafter{
		network("dflash", enginetest.TinyDrafter(l.t, first)),
		network("dflash2", second()),
		network("dspark", enginetest.TinyDSpark(l.t, vocab-1, taps, sizes)),
		network("dflash-cut", cutHead(l.t, enginetest.TinyDrafter(l.t, first), vocab)),
		network("dflash2-cut", cutHead(l.t, second(), vocab)),
		draft.NewMTP(c.head, &headSteeringTarget{l.bundle.Model, c.head}),
		draft.NewModel(&stumblingModel{Model: twin.Model}, l.bundle.Model),
	}
	if dir := l.assistantFolder(); dir != "" {
		files := load(dir)
		c.guesser.AssistantModel = files.Assistant
		trained = append(trained, assistant{draft.NewAssistant(c.guesser, l.bundle.Model)})
		c.free = append(c.free, files.Close)
	}
	c.drafters = append([]draft.Drafter{draft.Prediction{}, draft.Ngram{}, draft.Memory{}},
		trained...)
	for _, d := range trained {
		c.drafters = append(c.drafters, draft.NewContinued(d))
	}
	c.free = append(c.free, head.Close, twin.Close,
		func() error { c.memory.store.Flush(); return nil })
	return c
}

func (c *cast) Close() (err error) {
	for _, free := range c.free {
		err = errors.Join(err, free())
	}
	return err
}

// A steeredBlock is a real network that knows how the text goes on. The first drafts of a block are
// right, one more each round; after a match, up to a token that steer makes wrong. The next draft is
// wrong. All later drafts are the network's own noise. Where its head is cut, a right token may be one that it cannot say.
type steeredBlock struct {
	draft.Block
	cut      []int32 // the tokens that its head has, ascending; nil for all
	text     []int32 // prompt and answer
	rounds   int
	pos, row int // position of the last known token, and the wrong row of the current block
}

func (w *steeredBlock) Forward(s *mlx.Scope, taps []*mlx.Array, known *mlx.Array, n, pos int,
	caches []cache.Cache) *mlx.Array {
	w.pos = pos + known.Dim(0) - 1
	if w.row = w.rounds % (n + 1); known.Dim(0) > 1 {
		w.row = (wrongAt + wrongEvery - (w.pos+1)%wrongEvery) % wrongEvery // as steer does
	}
	w.rounds++
	return w.Block.Forward(s, taps, known, n, pos, caches)
}

// Unembed raises the logits that steer the network.
func (w *steeredBlock) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := w.Block.Unembed(s, hidden)
	n, columns := logits.Dim(0), logits.Dim(1)
	sure := make([]float32, n*columns)
	for i := range min(n, w.row+1) {
		if at := w.pos + 1 + i; at < len(w.text) {
			id := int(w.text[at])
			if i == w.row {
				id = (id + 1) % 128 // below every vocabulary here
			}
			if at, has := w.place(id); has {
				sure[i*columns+at] = 1e4
			}
		}
	}
	return s.Add(logits, mlx.New(s, sure, n, columns))
}

// place returns the column of a token in the block's logits.
func (w *steeredBlock) place(id int) (at int, has bool) {
	if w.cut == nil {
		return id, true
	}
	return slices.BinarySearch(w.cut, int32(id))
}

// Vocabulary implements draft.CutBlock.
func (w *steeredBlock) Vocabulary() *mlx.Array { return w.Block.(draft.CutBlock).Vocabulary() }

// steered returns w as the kind of block that its network is.
func (w *steeredBlock) steered() draft.Block {
	if chain, ok := w.Block.(draft.MarkovBlock); ok && chain.Markov() {
		return &steeredChain{w, chain}
	}
	if path, ok := w.Block.(draft.PathBlock); ok && path.Candidates() > 0 {
		return &steeredPath{w, path}
	}
	return w
}

// A steeredHead is a real head that knows how the text goes on. One guess in five is wrong.
type steeredHead struct {
	draft.Head
	text []int32 // prompt and answer
	at   int     // position that the last row guesses
}

func (w *steeredHead) Forward(s *mlx.Scope, tokens, hidden *mlx.Array, pos int,
	caches []cache.Cache) *mlx.Array {
	w.at = pos + tokens.Dim(0) + 1
	return w.Head.Forward(s, tokens, hidden, pos, caches)
}

// A headSteeringTarget is the target model, whose output head the head borrows.
type headSteeringTarget struct {
	lm.Model
	to *steeredHead
}

func (w *headSteeringTarget) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := w.Model.Unembed(s, hidden)
	return s.Add(logits, steer(s, w.to.text, w.to.at, logits.Dim(1)))
}

// assistantFolder writes an assistant of Gemma 4 and returns its folder. The assistant attends the
// model's last full layer and its last layer with a window, as far as the model has them. It
// returns "" if the model has no such layer.
func (l *lossless) assistantFolder() string {
	config, heads := l.bundle.Model.Config(), 1
	fields := map[string]any{"vocab_size": config.VocabSize}
	var kinds []string
	for _, shape := range l.bundle.Model.(lm.Restorable).KVShapes() {
		kind, dim := "full_attention", "global_head_dim"
		if shape.Window > 0 {
			kind, dim = "sliding_attention", "head_dim"
		}
		if shape.Dim == 0 || slices.Contains(kinds, kind) {
			continue
		}
		kinds, heads = append(kinds, kind), heads*shape.Heads
		fields[dim] = shape.Dim
	}
	if kinds == nil {
		return ""
	}
	fields["layer_types"], fields["num_hidden_layers"] = kinds, len(kinds)
	fields["num_attention_heads"], fields["num_key_value_heads"] = 2*heads, heads
	return enginetest.TinyAssistant(l.t, config.HiddenSize, fields)
}

// An assistant has a name of its own, because a head is in the same cast.
type assistant struct{ draft.Drafter }

func (assistant) Name() string { return "assistant" }

// A steeredGuesser is a real assistant that knows how the text goes on. One guess in five is wrong.
type steeredGuesser struct {
	draft.AssistantModel
	vocab int
	text  []int32 // prompt and answer
	after int     // rows of the target's caches before the current chain
	at    int     // position that the last row guesses
}

func (w *steeredGuesser) Forward(s *mlx.Scope, token, hidden *mlx.Array,
	target []cache.Cache) (logits, next *mlx.Array) {
	if rows := target[0].Offset(); rows != w.after {
		w.after, w.at = rows, rows
	}
	w.at++
	logits, next = w.AssistantModel.Forward(s, token, hidden, target)
	return s.Add(logits, steer(s, w.text, w.at, w.vocab)), next
}

// steer makes one token in five wrong.
const wrongEvery, wrongAt = 5, 3

// steer returns what is added to logits (1, V) so that they guess the token at a position of a text,
// or a wrong one.
func steer(s *mlx.Scope, text []int32, at, vocab int) *mlx.Array {
	sure := make([]float32, vocab)
	if at < len(text) {
		id := int(text[at])
		if at%wrongEvery == wrongAt {
			id = (id + 1) % min(vocab, 256)
		}
		sure[id] = 1e4
	}
	return mlx.New(s, sure, 1, vocab)
}

// A steeredPath is a steeredBlock whose rows are chosen along a path.
type steeredPath struct {
	*steeredBlock
	path draft.PathBlock
}

func (w *steeredPath) Candidates() int { return w.path.Candidates() }

func (w *steeredPath) Edges(s *mlx.Scope, hidden, predecessors, candidates *mlx.Array) *mlx.Array {
	return w.path.Edges(s, hidden, predecessors, candidates)
}

// A steeredChain is a steeredBlock whose rows are corrected one after the other.
type steeredChain struct {
	*steeredBlock
	chain draft.MarkovBlock
}

func (w *steeredChain) Markov() bool { return w.chain.Markov() }

func (w *steeredChain) Correction(s *mlx.Scope, previous *mlx.Array) *mlx.Array {
	return w.chain.Correction(s, previous)
}

func (w *steeredChain) Trust(s *mlx.Scope, hidden, previous *mlx.Array) *mlx.Array {
	return w.chain.Trust(s, hidden, previous)
}

// A stumblingModel raises the logit of an arbitrary token in every seventh call.
type stumblingModel struct {
	lm.Model
	said int
}

func (m *stumblingModel) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := m.Model.Unembed(s, hidden)
	sure := make([]float32, logits.Dim(0)*logits.Dim(1))
	if m.said++; m.said%7 == 0 {
		sure[m.said%min(logits.Dim(1), 256)] = 1e4
	}
	return s.Add(logits, mlx.New(s, sure, logits.Dim(0), logits.Dim(1)))
}

// narrow are the only two tokens of a text that repeats itself.
var narrow = []int32{20, 21}

// suit adapts a request to a drafter: n-gram lookups need a text that repeats itself.
func suit(r engine.Request, d draft.Drafter) engine.Request {
	if _, ok := d.(draft.Ngram); !ok {
		return r
	}
	r.Prompt = slices.Clone(r.Prompt)
	r.Sampling.LogitBias = map[int32]float32{}
	for i, id := range r.Prompt {
		r.Prompt[i] = narrow[int(id)%len(narrow)]
	}
	for _, id := range narrow {
		r.Sampling.LogitBias[id] = 100
	}
	return r
}

// giveAnswer gives the cast the answer of plain decoding. For the drafter Prediction it also sets
// the request's prediction, with every seventh token wrong. Other drafters get no prediction,
// because a prediction comes before them all.
func (c *cast) giveAnswer(r *engine.Request, d draft.Drafter, answer []int32) {
	for _, b := range c.blocks {
		b.text = slices.Concat(r.Prompt, answer)
	}
	c.head.text, c.guesser.text = c.blocks[0].text, c.blocks[0].text
	c.memory.giveTexts(r, d, answer)
	if _, ok := d.(draft.Prediction); !ok {
		return
	}
	r.Prediction = slices.Clone(answer)
	for i := 5; i < len(answer); i += 7 {
		r.Prediction[i] = (answer[i] + 1) % 128 // below every vocabulary here
	}
}

// each decodes with every drafter of the cast, greedily and sampled. It returns how many logits differ,
// and how many were compared.
func (l *lossless) each(c cell, of *cast) (differ, all int) {
	l.t.Helper()
	for _, d := range of.drafters {
		if _, joins := d.(*draft.Continued); joins && c.depth < 2 {
			continue // a known token and one after it are two
		}
		for _, how := range []struct {
			name string
			sample.Params
		}{
			{"greedy", sample.Params{RepetitionPenalty: 1.3}}, // without a penalty tiny models loop
			{"sampled", sample.Params{Temperature: 0.8}},
		} {
			r := suit(engine.Request{
				Prompt: l.prompt(30, 2), MaxTokens: new(56), IgnoreEOS: true,
				Seed: new(uint64(5)), Sampling: how.Params,
			}, d)
			name := "drafted " + how.name
			if _, lookup := d.(draft.Ngram); lookup {
				name = "repetitive " + how.name
			}
			want := l.plain(name, r, 0)
			of.giveAnswer(&r, d, want.ids)
			n, a := l.drafted(c, of, d, r, want)
			differ, all = differ+n, all+a
			r.Texts.Close()
		}
	}
	return differ, all
}

// drafted decodes with one drafter of the cast and compares with plain decoding.
func (l *lossless) drafted(c cell, of *cast, d draft.Drafter, r engine.Request,
	want saying) (differ, all int) {
	l.t.Helper()
	for _, fused := range []bool{false, true} {
		if _, network := d.(namedDFlash); fused && !network {
			continue // other drafts are read by the host, or hardly a graph
		}
		r.Speculation = engine.Speculation{Drafter: d.Name(), Depth: &c.depth,
			Rollback: c.rollback, Fused: fused}
		what := fmt.Sprintf("%s, %s, temperature %g, fused %v", c, d.Name(),
			r.Sampling.Temperature, fused)
		e := l.engine(nil, of.drafters...)
		got := l.sayOn(e, r, 0)
		e.Close()
		n, a := bits(got.logits, want.logits)
		differ, all = differ+n, all+a
		if n > 0 || !slices.Equal(got.ids, want.ids) || got.text != want.text {
			l.t.Errorf("%s: %d of %d logits differ; ids %v, want %v", what, n, a, got.ids,
				want.ids)
		}
		_, lookup := d.(draft.Ngram)
		steady := lookup && (l.steady || r.Sampling.Temperature == 0) // of two tokens alone
		if st := got.stats; st.Drafter != d.Name() || st.Accepted == 0 ||
			st.Accepted == st.Drafted && !steady || st.NoDrafter != "" {
			l.t.Errorf("%s: %d of %d drafts by %q were accepted, want some but not all (%s)",
				what, st.Accepted, st.Drafted, st.Drafter, st.NoDrafter)
		}
		if _, joins := d.(*draft.Continued); joins && !wentOn(got.stats) {
			l.t.Errorf("%s: no draft after a match was accepted: %v of %v", what,
				got.stats.Accepts, got.stats.Depths)
		}
	}
	return differ, all
}
