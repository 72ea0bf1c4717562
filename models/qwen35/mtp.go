package qwen35

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// MTPModelType is the model_type of a folder that holds a head alone.
const MTPModelType = "qwen3_5_mtp"

// mtpPrefix begins the names of a head's tensors.
const mtpPrefix = "mtp."

// MTP is a model's head for multi-token prediction. It guesses the token after the next one, from
// the next token and the hidden state before it. It is used on the MLX thread only. Errors go to
// the scope.
//
// Unusual in it:
//
//   - It has no embedding and no output head. It borrows the model's.
//   - A row is made of the hidden state at a position and of the embedding of the token after it.
//     The hidden state has passed the model's final norm. Both are normed, joined with the
//     embedding first, and mapped by fc.
//   - Its layers are attention layers of the model, with experts where the model has some.
//   - The hidden state that it returns takes the place of the model's in the next row of a chain.
//   - A cache has a row for each token of the text. The first token has no hidden state before it.
//     Its row is that of Begin, which nothing attends.
//   - Published norms multiply by 1 + weight, as the model's do. Conversions to MLX hold the sum.
type MTP struct {
	PreFCNormEmbedding *nn.RMSNorm
	PreFCNormHidden    *nn.RMSNorm
	FC                 *nn.Linear
	Layers             []nn.Layer
	Norm               *nn.RMSNorm

	args    *args
	target  nn.Lender
	weights *nn.Weights
}

// parseMTP reads the config.json of a head, or of the model that brings it. The model's layers are
// left out of it.
func parseMTP(config []byte) (*args, error) {
	arch, err := Parse(config)
	if err != nil {
		return nil, err
	}
	a := arch.(*args)
	var whole struct {
		ModelType string `json:"model_type"`
	}
	if err := nn.ReadConfig(config, &whole); err != nil {
		return nil, err
	}
	if whole.ModelType != MTPModelType {
		a.modelLayers = a.NumHiddenLayers
	}
	a.NumHiddenLayers = cmp.Or(a.MTPNumHiddenLayers, 1)
	a.FullAttentionInterval, a.LayerTypes, a.Unseen = 1, nil, 1
	return a, nil
}

// checkMTP refuses a head that is not computed here.
func (a *args) checkMTP() error {
	if a.MTPUseDedicatedEmbeddings {
		return nn.Unsupported("config.json: mtp_use_dedicated_embeddings is not supported")
	}
	return nn.CheckSizes(nn.Size{Name: "mtp_num_hidden_layers", Value: a.NumHiddenLayers,
		Max: nn.MaxLayers})
}

// NewMTP builds the head of a config.json on its weights and takes them over. From a whole
// checkpoint it takes the head's weights alone. The target must outlive the head. A target that the
// head was not made for is refused. Errors about the checkpoint come from w.Err.
func NewMTP(w *nn.Weights, config []byte, target nn.Lender) (*MTP, error) {
	a, err := pairMTP(config, target.Config())
	if err != nil {
		return nil, err
	}
	m := a.newMTP(w)
	m.target = target
	return m, nil
}

// PairMTP checks the config.json of a head against the target that it is to draft for, without its
// weights. Error: *PairError if it was made for another model.
func PairMTP(config []byte, target lm.Config) error {
	_, err := pairMTP(config, target)
	return err
}

// pairMTP reads the config.json of a head for a target. Whether they are a pair comes first: a head
// that is not the target's need not be computed here.
func pairMTP(config []byte, target lm.Config) (*args, error) {
	a, err := parseMTP(config)
	if err != nil {
		return nil, err
	}
	return a, cmp.Or(a.fits(target), a.checkMTP())
}

// MTPCacheSpecs returns what each layer of a head keeps of a text.
func MTPCacheSpecs(config []byte) ([]nn.CacheSpec, error) {
	a, err := parseMTP(config)
	if err == nil {
		err = a.checkMTP()
	}
	if err != nil {
		return nil, err
	}
	return slices.Repeat([]nn.CacheSpec{a.KVCacheSpec(0)}, a.NumHiddenLayers), nil
}

// MeasureMTP asks w, made by nn.NewDryRunWeights, for all tensors of the head of a config.json. It needs
// no target.
func MeasureMTP(w *nn.Weights, config []byte) error {
	a, err := parseMTP(config)
	if err == nil {
		err = a.checkMTP()
	}
	if err != nil {
		return err
	}
	a.newMTP(w)
	return nil
}

// IsMTP reports whether a tensor of a model's checkpoint belongs to its head.
func IsMTP(name string) bool {
	_, ok := cutMTP(name)
	return ok
}

// cutMTP returns what the head calls a tensor of a model's checkpoint, if it is one of the head's.
func cutMTP(name string) (string, bool) {
	for _, wrapper := range []string{"model.", "language_model.", "model."} {
		name = strings.TrimPrefix(name, wrapper)
	}
	return strings.CutPrefix(name, mtpPrefix)
}

// A PairError says that a head was made for another model.
type PairError struct {
	What         string
	Mine, Theirs int
}

func (e *PairError) Error() string {
	return fmt.Sprintf("the head is made for a model with %d %s, and this one has %d: "+
		"take the head published for this model", e.Mine, e.What, e.Theirs)
}

// fits refuses a target of other sizes. A head that a model brings is for that model: a smaller
// one may be as wide.
func (a *args) fits(target lm.Config) error {
	for _, e := range []*PairError{
		{"hidden elements", a.HiddenSize, target.HiddenSize},
		{"tokens of vocabulary", a.VocabSize, target.VocabSize},
		{"layers", cmp.Or(a.modelLayers, target.Layers), target.Layers},
	} {
		if e.Mine != e.Theirs {
			return e
		}
	}
	return nil
}

// newMTP reads the weights of a head.
func (a *args) newMTP(w *nn.Weights) *MTP {
	offset := sanitizeMTP(w)
	rope := a.Rope(w)
	norm := func(name string) *nn.RMSNorm {
		return w.RMSNorm(mtpPrefix+name, a.HiddenSize, a.RMSNormEps, offset)
	}
	m := &MTP{
		PreFCNormEmbedding: norm("pre_fc_norm_embedding"),
		PreFCNormHidden:    norm("pre_fc_norm_hidden"),
		FC:                 w.Linear(mtpPrefix+"fc", 2*a.HiddenSize, a.HiddenSize, false),
		args:               a,
		weights:            w,
	}
	for i := range a.NumHiddenLayers {
		path := fmt.Sprintf("%slayers.%d", mtpPrefix, i)
		m.Layers = append(m.Layers, a.Block(w, path, rope, offset, i))
	}
	m.Norm = norm("norm")
	return m
}

// sanitizeMTP gives a head's tensors their names among those of a model, and drops what is not the
// head's. A folder of a head alone leaves out the prefix. It returns what is added to the weights
// of norms: 0 if a conversion to MLX has written them, and else 1.
func sanitizeMTP(w *nn.Weights) (offset float64) {
	prefixed := slices.ContainsFunc(w.Names(), IsMTP)
	w.Sanitize(func(name string) (string, bool) {
		if rest, ok := cutMTP(name); ok {
			name = rest
		} else if prefixed {
			return name, false
		}
		return mtpPrefix + renameExperts(name), true
	})
	if prefixed && w.Format(mtpPrefix+"norm.weight") != nn.FormatMLX {
		offset = 1
	}
	return offset
}

// NewCaches makes the empty caches of one request, one for each layer.
func (m *MTP) NewCaches(opts cache.Options) []cache.Cache {
	caches := make([]cache.Cache, len(m.Layers))
	for i, l := range m.Layers {
		caches[i] = l.NewCache(opts)
	}
	return caches
}

// Begin appends the first row of empty caches, which nothing attends.
func (m *MTP) Begin(s *mlx.Scope, caches []cache.Cache) {
	h := m.args.Heads(1)
	row := s.Zeros(m.Dtype(), 1, h.KV, 1, h.Dim)
	for _, c := range caches {
		c.(cache.Attention).Update(s, row, row)
	}
}

// Forward appends the rows of tokens (n), which may be unevaluated, and of the hidden states (n, H)
// at the positions before them; the first of these is pos. It returns the head's hidden states
// (n, H) in the target's type. The target's Unembed turns them into logits of what follows the
// tokens.
func (m *MTP) Forward(s *mlx.Scope, tokens, hidden *mlx.Array, pos int,
	caches []cache.Cache) *mlx.Array {
	x := m.target.Embed(s, tokens) // (n, H)
	if scale := m.target.EmbedScale(); scale != 1 {
		x = s.Mul(x, s.Scalar(scale, x.Dtype()))
	}
	d := m.Dtype()
	x = m.FC.Forward(s, s.Concat(-1,
		m.PreFCNormEmbedding.Forward(s, s.AsType(x, d)),
		m.PreFCNormHidden.Forward(s, s.AsType(hidden, d))))
	b := lm.Batch{{Tokens: tokens, N: tokens.Dim(0), Pos: pos, Caches: caches}}
	for _, l := range m.Layers {
		x = l.Forward(s, x, b)
	}
	return s.AsType(m.Norm.Forward(s, x), m.target.Config().Dtype)
}

// Dtype returns the type that it computes in.
func (m *MTP) Dtype() mlx.Dtype { return m.PreFCNormHidden.Dtype() }

// Free releases the weights.
func (m *MTP) Free() { m.weights.Free() }
