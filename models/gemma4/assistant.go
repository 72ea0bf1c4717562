package gemma4

import (
	"encoding/json"
	"fmt"
	"strings"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// AssistantModelTypes are the model types of folders with an assistant.
var AssistantModelTypes = []string{"gemma4_assistant", "gemma4_unified_assistant"}

// assistantArgs is the config.json of an assistant.
type assistantArgs struct {
	BackboneHiddenSize       int   `json:"backbone_hidden_size"`
	UseOrderedEmbeddings     bool  `json:"use_ordered_embeddings"`
	NumCentroids             int   `json:"num_centroids"`
	CentroidIntermediateTopK int   `json:"centroid_intermediate_top_k"`
	TieWordEmbeddings        *bool `json:"tie_word_embeddings"`

	text *args // text_config
}

// An Assistant drafts for a Gemma 4 model. It guesses the next token from the newest one and from the
// hidden state before it. It is used on the MLX thread only. Errors go to the scope.
//
// Unusual in it:
//
//   - It keeps no keys and values. Its layers attend those that the target's last layer of their type
//     has in its cache: a full one, and one with a window. They have queries alone. A window reaches
//     as far back as that of the next position, because a ring holds no more.
//   - Every row of a chain stands at the last position of the target's cache. So the rows of a chain
//     differ by token and hidden state alone.
//   - Its input is the target's embedding of a token, scaled, and after it the target's hidden state,
//     after the final norm. pre_projection maps both to a row of its own width, which is small.
//   - post_projection maps its hidden state back to the target's width, for the next row.
//   - It has an embedding of its own, which serves as output head alone.
//   - With use_ordered_embeddings that head is sparse. Centroids score clusters of tokens, and only
//     the tokens of the best clusters get logits. The others get one less than the least of these.
type Assistant struct {
	PreProjection  *nn.Linear
	PostProjection *nn.Linear
	EmbedTokens    *nn.Embedding
	LMHead         *nn.Linear // nil = tied to EmbedTokens
	Layers         []*block
	Norm           *nn.RMSNorm

	Centroids     *nn.Linear // of the sparse head; nil = none
	TokenOrdering *mlx.Array // (V) int32, the tokens cluster by cluster

	args    *assistantArgs
	target  nn.Model
	weights *nn.Weights
}

// parseAssistant reads the config.json of an assistant.
func parseAssistant(config []byte) (*assistantArgs, error) {
	a := &assistantArgs{NumCentroids: 2048, CentroidIntermediateTopK: 32}
	var outer map[string]json.RawMessage
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	if err := nn.ReadConfig(config, &outer); err != nil {
		return nil, err
	}
	text, err := layersWithQueries(outer["text_config"])
	if err != nil {
		return nil, err
	}
	arch, err := Parse(text)
	if err != nil {
		return nil, err
	}
	a.text = arch.(*args)
	a.text.externalKV = true
	sizes := []nn.Size{{Name: "backbone_hidden_size", Value: a.BackboneHiddenSize,
		Max: nn.MaxHidden}}
	if a.UseOrderedEmbeddings {
		sizes = append(sizes,
			nn.Size{Name: "num_centroids", Value: a.NumCentroids, Max: a.text.VocabSize},
			nn.Size{Name: "centroid_intermediate_top_k", Value: a.CentroidIntermediateTopK,
				Max: a.NumCentroids})
	}
	if err := nn.CheckSizes(sizes...); err != nil {
		return nil, err
	}
	if a.UseOrderedEmbeddings && a.text.VocabSize%a.NumCentroids != 0 {
		return nil, fmt.Errorf("config.json: %d tokens can't be divided among %d centroids",
			a.text.VocabSize, a.NumCentroids)
	}
	return a, nil
}

// layersWithQueries returns a text_config whose layers have no inputs of their own and no MLP of
// double width. What it says of shared keys is left out: all layers share them.
func layersWithQueries(text []byte) ([]byte, error) {
	fields := map[string]any{}
	if len(text) > 0 {
		if err := nn.ReadConfig(text, &fields); err != nil {
			return nil, err
		}
	}
	if fields == nil {
		fields = map[string]any{} // text_config is null
	}
	fields["num_kv_shared_layers"] = 0
	fields["use_double_wide_mlp"] = false
	fields["hidden_size_per_layer_input"] = 0
	return json.Marshal(fields)
}

// PairAssistant checks the config.json of an assistant against the target that it is to draft for,
// without its weights.
func PairAssistant(config []byte, target nn.Model) error {
	a, err := parseAssistant(config)
	if err != nil {
		return err
	}
	return a.pair(target)
}

// pair finds the caches of the target that each layer attends, and refuses a target of other sizes.
func (a *assistantArgs) pair(target nn.Model) error {
	c := target.Config()
	for _, of := range []struct {
		what         string
		mine, theirs int
	}{
		{"hidden elements", a.BackboneHiddenSize, c.HiddenSize},
		{"tokens of vocabulary", a.text.VocabSize, c.VocabSize},
	} {
		if of.mine != of.theirs {
			return fmt.Errorf("the assistant is made for a target with %d %s, and this one has %d%s",
				of.mine, of.what, of.theirs, takeOther)
		}
	}
	shapes := target.KVShapes()
	for i, kind := range a.text.LayerTypes {
		source := -1
		for c, shape := range shapes {
			if shape.Dim > 0 && (shape.Window > 0) == (kind == nn.SlidingAttention) {
				source = c
			}
		}
		if source < 0 {
			return fmt.Errorf("the assistant attends a layer of type %s, and this model has none%s", kind,
				takeOther)
		}
		h := a.text.heads(i)
		if theirs := shapes[source]; theirs.Dim != h.Dim || h.Q%theirs.Heads != 0 {
			return fmt.Errorf("the assistant's layer %d has %d heads of %d elements, "+
				"and the model's layer of type %s has %d keys of %d%s", i, h.Q, h.Dim, kind, theirs.Heads,
				theirs.Dim, takeOther)
		}
		a.text.kvSource[i] = source
	}
	return nil
}

// takeOther ends the refusal of an assistant that was made for another target.
const takeOther = ": take the assistant published for this model"

// NewAssistant builds the assistant of a config.json on its weights and takes them over. The target
// must outlive it. A target that it was not made for is refused. Errors about the checkpoint come
// from w.Err.
func NewAssistant(w *nn.Weights, config []byte, target nn.Model) (*Assistant, error) {
	a, err := parseAssistant(config)
	if err != nil {
		return nil, err
	}
	if err := a.pair(target); err != nil {
		return nil, err
	}
	m := a.new(w)
	m.target = target
	return m, nil
}

// AssistantCacheSpecs returns what each layer of an assistant keeps of a text: nothing.
func AssistantCacheSpecs(config []byte) ([]nn.CacheSpec, error) {
	_, err := parseAssistant(config)
	return nil, err
}

// MeasureAssistant asks w, made by nn.NewDryRunWeights, for all tensors of the assistant of a config.json.
// It needs no target.
func MeasureAssistant(w *nn.Weights, config []byte) error {
	a, err := parseAssistant(config)
	if err != nil {
		return err
	}
	a.new(w)
	return nil
}

// new reads the weights.
func (a *assistantArgs) new(w *nn.Weights) *Assistant {
	t := a.text
	tied := a.TieWordEmbeddings == nil || *a.TieWordEmbeddings
	w.Sanitize(func(name string) (string, bool) {
		name = strings.TrimPrefix(name, "assistant.")
		return name, !tied || !strings.HasPrefix(name, "lm_head.")
	})
	m := &Assistant{
		PreProjection: w.Linear("pre_projection", 2*a.BackboneHiddenSize, t.HiddenSize, false),
		PostProjection: w.Linear("post_projection", t.HiddenSize, a.BackboneHiddenSize,
			false),
		EmbedTokens: w.Embedding("model.embed_tokens", t.VocabSize, t.HiddenSize),
		Norm:        w.RMSNorm("model.norm", t.HiddenSize, t.RMSNormEps, 0),
		args:        a,
		weights:     w,
	}
	full, local := t.ropes(w)
	for i := range t.NumHiddenLayers {
		rope := full
		if t.window(i) > 0 {
			rope = local
		}
		m.Layers = append(m.Layers, t.newBlock(w, fmt.Sprintf("model.layers.%d", i), rope, i))
	}
	if !tied {
		m.LMHead = w.Linear("lm_head", t.HiddenSize, t.VocabSize, false)
	}
	if a.UseOrderedEmbeddings {
		m.Centroids = w.Linear("masked_embedding.centroids", t.HiddenSize, a.NumCentroids, false)
		m.TokenOrdering = w.Indices("masked_embedding.token_ordering", t.VocabSize, t.VocabSize)
	}
	return m
}

// Forward guesses what follows a token (1), which may be unevaluated, from the hidden state (1, H)
// before it. caches are the target's, whose last position is that of the hidden state. It returns
// logits (1, V), and a hidden state (1, H) in the place of the target's for the next row. It changes
// no cache.
func (m *Assistant) Forward(s *mlx.Scope, token, hidden *mlx.Array,
	caches []cache.Cache) (logits, next *mlx.Array) {
	x := m.target.Embed(s, token) // (1, H)
	if scale := m.target.EmbedScale(); scale != 1 {
		x = s.Mul(x, s.Scalar(scale, x.Dtype()))
	}
	d := m.Dtype()
	x = m.PreProjection.Forward(s, s.Concat(-1, s.AsType(x, d), s.AsType(hidden, d)))
	b := lm.Batch{{Tokens: token, N: 1, Pos: caches[0].Offset() - 1, Caches: caches}}
	for _, l := range m.Layers {
		x = l.Forward(s, x, b)
	}
	x = m.Norm.Forward(s, x)
	return m.unembed(s, x), s.AsType(m.PostProjection.Forward(s, x), m.target.Config().Dtype)
}

// unembed returns the logits (1, V) of a hidden state (1, h).
func (m *Assistant) unembed(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	switch {
	case m.Centroids != nil:
		return m.unembedBest(s, x)
	case m.LMHead != nil:
		return m.LMHead.Forward(s, x)
	}
	return m.EmbedTokens.Unembed(s, x)
}

// unembedBest computes the logits of the tokens in the best clusters.
func (m *Assistant) unembedBest(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	a := m.args
	clusters := nn.TopExperts(s, m.Centroids.Forward(s, x), a.CentroidIntermediateTopK) // (1, k)
	ordering := s.Reshape(m.TokenOrdering, a.NumCentroids, a.text.VocabSize/a.NumCentroids)
	tokens := s.Reshape(s.Take(ordering, clusters, 0), -1) // (n)
	best := s.MatMul(x, s.Transpose(m.EmbedTokens.Forward(s, tokens), 1, 0))
	below := s.Sub(s.Neg(s.Max(s.Neg(best), 1, true)), s.Scalar(1, best.Dtype()))
	return s.PutAlong(s.BroadcastTo(below, 1, a.text.VocabSize), s.Reshape(tokens, 1, -1), best, 1)
}

// Dtype returns the type that it computes in.
func (m *Assistant) Dtype() mlx.Dtype { return m.EmbedTokens.Dtype() }

// Free releases the weights.
func (m *Assistant) Free() { m.weights.Free() }
