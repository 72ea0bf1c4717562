// Package dflash is the DFlash drafter (architectures DFlashDraftModel and DFlash2DraftModel), and
// DSpark, which has its layers (architectures DSparkDraftModel, Lfm2DSparkDraftModel and
// Qwen3DSparkModel). A few layers with Qwen3's shape guess a whole block of tokens in one forward.
// They read what layers of the target said about the text so far.
//
// Unusual in it:
//
//   - It has no embedding and no head. It borrows the target's.
//   - Its context is not text. The outputs of some of the target's layers are its taps. For each
//     position the taps are joined, mapped by fc to one row, and normed. Keys and values of every
//     layer come from that row alone, so they are computed once and never change. Context rows have
//     no query and pass no layer.
//   - A block is the newest token, the anchor, whose taps do not exist yet, and mask tokens after
//     it. The row of a mask guesses the token at its own position, not the next one. A block may
//     begin with more tokens, where something else has guessed them.
//   - In full layers the rows of a block see each other in both directions. In sliding layers the
//     window lies over the context, and a row sees the rows of its block before it. config.json or
//     [Settings] can change this.
//   - A bidirectional sliding layer sees its whole block, and the context that its window reaches.
//     It keeps all rows, because a ring hands out its rows with a causal mask.
//   - The guess must not be the mask token. Whoever reads the logits forbids it.
//
// The second architecture has more:
//
//   - Convolutions over the rows of the block stand before and after attention and MLP. Their
//     kernels depend on the row.
//   - A row is no guess of its own. A selector scores its likeliest tokens by the token before
//     them. Whoever reads the logits walks from row to row.
//   - The logits come from the head's matrix alone. A factor and a cap of its own stand in place of
//     the target's.
//
// DSpark differs from the first in what its rows say, not in how they are computed, so it is here:
//
//   - A row is no guess of its own. Its logits get a correction that depends on the token before
//     it, by two narrow matrices. Whoever reads the logits goes from row to row.
//   - A row guesses the token after its own position, the anchor's first. With sample_from_anchor
//     false it is as in DFlash.
//   - block_size counts the drafts alone, unless dspark_bonus_anchor says otherwise.
//   - A head says how likely each guess is right, if the checkpoint has one.
//   - It may bring an embedding and a head. Its own embeddings are taken as they are stored. A cap
//     of its own stands in place of the target's.
//   - Blocks see themselves in both directions in all layers, unless config.json says causal. A
//     row's window is that of DFlash then. Published drafters with windows are causal.
//   - Fields of dflash_config may stand outside of it.
//
// Refused by name are other corrections than vanilla, sinks, noise levels, gated queries, a
// vocabulary of its own, and layers of Gemma 4 or Qwen3.5. The formulas were checked against
// mlx_vlm's DSparkDraftModel.
//
// A DFlash drafter of either architecture may guess some tokens alone, to save time: those of a
// tensor draft_head.ids, which published ones do not have. Then it holds their rows of the target's
// head. Their logits lack a scale of the target's own, such as Granite's.
//
// There are five variants of the first:
//
//   - Attention's projections have biases (attention_bias, as for gpt-oss).
//   - Each tap has a norm before fc (aux_hidden_norms).
//   - The outputs of heads have gates (g_proj).
//   - Context rows pass each layer's input norm (architecture DFlashLagunaForCausalLM).
//   - Muse Glimmer's drafter (architecture MuseGlimmerAssistantModel) has other names, and takes
//     embeddings as they are stored. Its blocks see themselves in both directions everywhere. Its
//     window counts the positions before a row's own.
//
// The formulas of the second to the fourth were checked against vLLM's DFlashLagunaModel and
// sglang's DFlashLagunaAttention. Those of the fifth were checked against transformers'
// MuseGlimmerAssistantModel. Other architectures are refused by name.
package dflash

import (
	"fmt"
	"slices"
	"strings"

	"tandem/engine/cache"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// Model is a drafter for one target. It is used on the MLX thread only. Errors go to the scope.
type Model struct {
	AuxHiddenNorms []*nn.RMSNorm // one per tap, or none
	FC             *nn.Linear
	HiddenNorm     *nn.RMSNorm
	Layers         []*layer
	Norm           *nn.RMSNorm
	Selector       *selector   // of the second architecture, else nil
	MarkovHead     *markovHead // of DSpark, else nil

	// Of a DSpark drafter that brings them, else nil: the target's are used.
	EmbedTokens *nn.Table
	LMHead      *nn.Linear

	// Of a drafter that guesses some tokens alone, else nil.
	HeadIDs *mlx.Array // (C) int32, ascending
	CutHead *nn.Linear // H to C: their rows of the target's head

	args     *args
	heads    nn.Heads
	rope     *nn.Rope
	target   nn.Lender
	taps     []int
	settings Settings
	weights  *nn.Weights
}

// New builds the drafter of a config.json on its weights and takes them over. The target must
// outlive it. A target that the drafter was not made for is refused. Errors about the checkpoint
// come from w.Err.
func New(w *nn.Weights, config []byte, target nn.Lender, settings Settings) (*Model, error) {
	a, err := parseArgs(config)
	if err != nil {
		return nil, err
	}
	taps, err := a.pair(target.Config())
	if err != nil {
		return nil, err
	}
	if err := settings.check(); err != nil {
		return nil, err
	}
	m := build(w, a, len(taps), target)
	m.target, m.taps, m.settings = target, taps, settings
	return m, nil
}

// Measure asks w, made by nn.NewDryRunWeights, for all tensors of the drafter of a config.json. It needs
// no target.
func Measure(w *nn.Weights, config []byte) error {
	a, err := parseArgs(config)
	if err != nil {
		return err
	}
	build(w, a, a.countTaps(), nil)
	return nil
}

// build reads the weights of a drafter that reads so many layers of its target, which may be nil if
// nothing is to be computed.
func build(w *nn.Weights, a *args, taps int, target nn.Lender) *Model {
	sanitize(w)
	m := &Model{
		FC:         w.Linear("fc", taps*a.HiddenSize, a.HiddenSize, false),
		HiddenNorm: w.RMSNorm("hidden_norm", a.HiddenSize, a.RMSNormEps, 0),
		args:       a,
		heads:      a.Heads(float64(a.HeadDim)),
		rope:       w.Rope(a.HeadDim, *a.RopeTheta, a.RopeInterleaved, a.RopeScaling),
		weights:    w,
	}
	if w.Has("aux_hidden_norms.0.weight") {
		for k := range taps {
			norm := w.RMSNorm(fmt.Sprintf("aux_hidden_norms.%d", k), a.HiddenSize, a.RMSNormEps, 0)
			m.AuxHiddenNorms = append(m.AuxHiddenNorms, norm)
		}
	}
	for i := range a.NumHiddenLayers {
		m.Layers = append(m.Layers, newLayer(w, fmt.Sprintf("layers.%d", i), a))
	}
	m.Norm = w.RMSNorm("norm", a.HiddenSize, a.RMSNormEps, 0)
	if a.second() {
		m.Selector = newSelector(w, a)
	}
	if a.spark() {
		m.MarkovHead = newMarkovHead(w, a)
		if w.Has("embed_tokens.weight") {
			m.EmbedTokens = w.Table("embed_tokens", a.VocabSize, a.HiddenSize)
		}
		if w.Has("lm_head.weight") {
			m.LMHead = w.Linear("lm_head", a.HiddenSize, a.VocabSize, false)
		}
		return m
	}
	var n int
	if m.HeadIDs, n = w.IDs("draft_head.ids", a.VocabSize); m.HeadIDs != nil {
		m.CutHead = w.CutHead(target, m.HeadIDs, n, a.HiddenSize)
	}
	return m
}

// sanitize drops a prefix of the tensors' names, and gives Muse Glimmer's and tables that are named
// without .weight the names of others.
func sanitize(w *nn.Weights) {
	w.Sanitize(func(name string) (string, bool) {
		if strings.HasSuffix(name, "_codebook") {
			name += ".weight"
		}
		name = strings.Replace(name, "encoder.fc.", "fc.", 1)
		name = strings.Replace(name, "encoder.output_norm_enc.", "hidden_norm.", 1)
		for _, prefix := range []string{"draft.", "model."} {
			if to, ok := strings.CutPrefix(name, prefix); ok {
				return to, true
			}
		}
		return name, true
	})
}

// With returns the same drafter under other settings. It shares the weights, which are freed with
// m. Caches belong to the drafter that made them.
func (m *Model) With(settings Settings) (*Model, error) {
	if err := settings.check(); err != nil {
		return nil, err
	}
	other := *m
	other.settings = settings
	return &other, nil
}

// Taps returns the layers of the target whose outputs Context takes, ascending.
func (m *Model) Taps() []int { return m.taps }

// BlockSize returns the most rows of a block, its known tokens included: what the drafter was
// trained for, as far as caches can drop it again.
func (m *Model) BlockSize() int { return min(m.args.block(), cache.MaxBlock) }

// MaskToken returns the id that stands where a token is to be guessed. It must not be guessed
// itself.
func (m *Model) MaskToken() int32 { return int32(*m.args.DFlashConfig.MaskTokenID) }

// NewCaches makes the empty caches of one request, one for each layer. Their offsets count context
// rows. The first row need not stand at position 0.
func (m *Model) NewCaches(opts cache.Options) []cache.Cache {
	caches := make([]cache.Cache, len(m.Layers))
	for i := range caches {
		window := 0
		if reach := m.reach(i); reach >= 0 && m.causal(i) {
			window = reach + 1
		}
		caches[i] = cache.New(opts, window)
	}
	return caches
}

// Layers returns the most that each layer of a drafter keeps of a text. Settings can make a layer
// look back less far.
func Layers(config []byte) ([]nn.CacheSpec, error) {
	a, err := parseArgs(config)
	if err != nil {
		return nil, err
	}
	return slices.Repeat([]nn.CacheSpec{a.KVCacheSpec(0)}, a.NumHiddenLayers), nil
}

// Context appends rows to the caches. taps holds the outputs (n, H) of the layers that Taps names,
// for n adjacent positions from pos on. The first call may start anywhere. Each further call starts
// where the last one ended. n is at most the chunk that the caches were made for.
func (m *Model) Context(s *mlx.Scope, taps []*mlx.Array, pos int, caches []cache.Cache) {
	x := m.contextRows(s, taps)
	if s.Err() != nil {
		return
	}
	kv := nn.Heads{KV: m.heads.KV, Dim: m.heads.Dim}
	for i, l := range m.Layers {
		k, v := kv.Split(s, l.KVProj.Forward(s, m.source(s, l, x))) // (1, KV, n, D)
		caches[i].(cache.Attention).Update(s, m.rope.Forward(s, l.QKNorm.Keys(s, k), pos), v)
	}
}

// contextRows returns the rows (n, H) that the attention of every layer sees in place of taps.
func (m *Model) contextRows(s *mlx.Scope, taps []*mlx.Array) *mlx.Array {
	if len(taps) != len(m.taps) {
		s.Fail(fmt.Errorf("dflash: %d taps, not those of layers %v", len(taps), m.taps))
		return nil
	}
	if m.AuxHiddenNorms != nil {
		normed := make([]*mlx.Array, len(taps))
		for k, tap := range taps {
			normed[k] = m.AuxHiddenNorms[k].Forward(s, s.AsType(tap, m.Dtype()))
		}
		taps = normed
	}
	x := s.AsType(s.Concat(-1, taps...), m.Dtype())
	return m.HiddenNorm.Forward(s, m.FC.Forward(s, x))
}

// source returns the rows that a layer makes keys and values of, from the rows (n, H) of context.
func (m *Model) source(s *mlx.Scope, l *layer, context *mlx.Array) *mlx.Array {
	if m.args.laguna() {
		return l.InputLayernorm.Forward(s, context)
	}
	return context
}

// Forward computes the block of known tokens (k) int32 and n masks after them, k + n <= BlockSize.
// The block stands from position pos on, right after the context. It returns the normed rows of the
// masks (n, H), for Unembed. Row j guesses the token at pos+k+j. Where guesses begin at the anchor
// there is one mask less, and the last known token's row is the first guess. When Forward returns,
// the caches hold the context alone again. The next rows overwrite what the block left there.
//
// taps are the last rows of the context, as for Context, if the caches do not hold them yet; else
// nil. Forward appends them. They pass a layer beside the rows of the block, which saves a dozen
// operations a layer. taps and block together have at most cache.MaxBlock rows.
func (m *Model) Forward(s *mlx.Scope, taps []*mlx.Array, known *mlx.Array, n, pos int,
	caches []cache.Cache) *mlx.Array {
	k := known.Dim(0)
	if n < 1 || k+n > m.BlockSize() {
		s.Fail(fmt.Errorf("dflash: a block of %d drafts after %d known tokens; this drafter makes 1 to %d",
			n, k, m.BlockSize()-k))
		return known
	}
	first, rows := k, k+n // of the guesses, and of the block
	if m.args.fromAnchor() {
		first, rows = k-1, k+n-1
	}
	ids := known
	if rows > k {
		ids = s.Concat(0, known, mlx.New(s, slices.Repeat([]int32{m.MaskToken()}, rows-k), rows-k))
	}
	x := m.embed(s, ids) // (rows, H)
	if scale := m.embedScale(); scale != 1 {
		x = s.Mul(x, s.Scalar(scale, x.Dtype()))
	}
	x = s.AsType(x, m.Dtype())
	var context *mlx.Array
	if taps != nil {
		if context = m.contextRows(s, taps); s.Err() != nil {
			return known
		}
	}
	for i, l := range m.Layers {
		x = around(s, x, l.InputLayernorm.Forward(s, x), l.AttentionConv,
			func(x *mlx.Array) *mlx.Array { return m.attend(s, context, x, i, pos, caches[i]) })
		x = around(s, x, l.PostAttentionLayernorm.Forward(s, x), l.MLPConv,
			func(x *mlx.Array) *mlx.Array { return l.MLP.Forward(s, x) })
	}
	for _, c := range caches {
		if s.Err() != nil {
			break
		}
		if err := c.Trim(rows); err != nil {
			s.Fail(err)
		}
	}
	return s.AsType(m.Norm.Forward(s, s.Slice(x, 0, first, rows)), m.target.Config().Dtype)
}

// Vocabulary returns the tokens (C) that Unembed speaks of, ascending int32 ids; nil means all.
func (m *Model) Vocabulary() *mlx.Array { return m.HeadIDs }

// Unembed returns the logits (n, C) of what Forward returned.
func (m *Model) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	if !m.args.second() && !m.args.spark() && m.CutHead == nil {
		return m.target.Unembed(s, hidden)
	}
	d := m.args.DFlashConfig
	var logits *mlx.Array
	switch {
	case m.CutHead != nil:
		logits = m.CutHead.Forward(s, hidden)
	case m.LMHead != nil:
		logits = m.LMHead.Forward(s, s.AsType(hidden, m.Dtype()))
	default:
		logits = m.target.Head(s, hidden)
	}
	if by := *d.OutputMultiplier; by != 1 {
		logits = s.Mul(logits, s.Scalar(by, logits.Dtype()))
	}
	if limit := d.FinalLogitSoftcapping; limit != nil && *limit > 0 {
		logits = nn.Softcap(s, logits, *limit)
	}
	return logits
}

// Candidates returns among how many of a row's likeliest tokens Edges chooses the next one. It
// returns 0 if each row is a guess of its own.
func (m *Model) Candidates() int {
	if m.Selector == nil {
		return 0
	}
	return m.args.DFlashConfig.SelectorTopK
}

// Edges returns what is added to the logits of candidates (n, K) that come after predecessors (n,
// P), both int32: (n, P, K) in float32. hidden (n, H) is what Forward returned.
func (m *Model) Edges(s *mlx.Scope, hidden, predecessors, candidates *mlx.Array) *mlx.Array {
	return m.Selector.edges(s, s.AsType(hidden, m.Dtype()), predecessors, candidates)
}

// embed returns the embeddings (rows, H) of a block's tokens, as they are stored.
func (m *Model) embed(s *mlx.Scope, tokens *mlx.Array) *mlx.Array {
	if m.EmbedTokens != nil {
		return m.EmbedTokens.Rows(s, tokens)
	}
	return m.target.Embed(s, tokens)
}

// embedScale returns the factor of the embeddings of a block.
func (m *Model) embedScale() float64 {
	scale := *m.args.DFlashConfig.InputEmbeddingScale
	if m.raw() {
		return scale
	}
	return scale * m.target.EmbedScale()
}

// raw reports whether the embeddings of a block are as they are stored.
func (m *Model) raw() bool {
	return m.args.muse() || m.EmbedTokens != nil || m.settings.Embedding == Raw
}

// Architecture returns what its config.json calls it.
func (m *Model) Architecture() string { return m.args.Architectures[0] }

// Dtype returns the type that it computes in.
func (m *Model) Dtype() mlx.Dtype { return m.HiddenNorm.Dtype() }

// Free releases the weights.
func (m *Model) Free() { m.weights.Free() }
