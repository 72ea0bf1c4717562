package dflash

import (
	"cmp"
	"slices"
	"strings"

	"tandem/engine/mlx"
	"tandem/models/nn"
)

// sparkConfig has fields of a DSpark drafter, which stand in dflash_config or outside of it.
type sparkConfig struct {
	MarkovRank               *int   `json:"markov_rank"` // nil = 256
	MarkovHeadType           string `json:"markov_head_type"`
	EnableConfidenceHead     *bool  `json:"enable_confidence_head"`
	ConfidenceHeadWithMarkov *bool  `json:"confidence_head_with_markov"` // nil = true
	SampleFromAnchor         *bool  `json:"sample_from_anchor"`          // nil = true
	AttentionSinkBias        *bool  `json:"attention_sink_bias"`
}

// usualMarkovRank is the rank where config.json does not say one.
const usualMarkovRank = 256

// sparkProjector is the projector_type of a DSpark drafter.
const sparkProjector = "dspark"

// spark reports whether it is a DSpark drafter. Some are told from DFlash by their projector alone.
func (a *args) spark() bool {
	return len(a.Architectures) == 1 && (slices.Contains(sparkArchitectures, a.Architectures[0]) ||
		a.Architectures[0] == flashArchitecture && a.DFlashConfig.ProjectorType == sparkProjector)
}

// readSpark puts what stands outside of dflash_config into it, and what is not said into its
// fields.
func (a *args) readSpark() {
	d, top := &a.DFlashConfig, a.sparkConfig
	d.MaskTokenID = cmp.Or(d.MaskTokenID, a.MaskTokenID)
	if d.TargetLayerIDs == nil {
		d.TargetLayerIDs = a.TargetLayerIDs
	}
	d.Causal = cmp.Or(d.Causal, a.QueryCausal, new(false))
	d.MarkovRank = cmp.Or(d.MarkovRank, top.MarkovRank, new(usualMarkovRank))
	d.MarkovHeadType = cmp.Or(d.MarkovHeadType, top.MarkovHeadType, "vanilla")
	d.EnableConfidenceHead = cmp.Or(d.EnableConfidenceHead, top.EnableConfidenceHead, new(false))
	d.ConfidenceHeadWithMarkov = cmp.Or(d.ConfidenceHeadWithMarkov, top.ConfidenceHeadWithMarkov,
		new(true))
	d.SampleFromAnchor = cmp.Or(d.SampleFromAnchor, top.SampleFromAnchor, new(true))
	d.AttentionSinkBias = cmp.Or(d.AttentionSinkBias, top.AttentionSinkBias, new(false))
	a.SlidingWindow = cmp.Or(d.SWAWindowSize, a.SlidingWindow)
	if a.RopeIsNeox != nil {
		a.RopeInterleaved = !*a.RopeIsNeox
	}
}

// checkSpark checks what a DSpark drafter has of its own.
func (a *args) checkSpark() error {
	if !a.spark() {
		return nil
	}
	d := a.DFlashConfig
	switch {
	case d.MarkovHeadType != "vanilla":
		return nn.Unsupported("config.json: markov_head_type %q is not supported, only vanilla",
			d.MarkovHeadType)
	case *d.AttentionSinkBias:
		return nn.Unsupported("config.json: attention_sink_bias is not supported")
	case a.LogSNR:
		return nn.Unsupported("config.json: log_snr_conditioning is not supported")
	case a.GatedQProj:
		return nn.Unsupported("config.json: enable_qwen35_gated_q_proj is not supported")
	case strings.HasPrefix(a.ModelType, "qwen3_5"):
		return nn.Unsupported("config.json: a DSpark drafter of model_type %q is not supported, only qwen3",
			a.ModelType)
	case a.DraftVocabSize != 0 && a.DraftVocabSize != a.VocabSize:
		return nn.Unsupported("config.json: a draft_vocab_size of %d in a vocabulary of %d is not supported",
			a.DraftVocabSize, a.VocabSize)
	}
	return nn.CheckSizes(nn.Size{Name: "markov_rank", Value: *d.MarkovRank, Max: nn.MaxHidden})
}

// block returns how many tokens a block has at most: the anchor and its drafts. The block_size of a
// DSpark drafter counts the drafts alone, unless it says otherwise.
func (a *args) block() int {
	if a.spark() && !a.BonusAnchor && a.BlockSize > 0 {
		return a.BlockSize + 1
	}
	return a.BlockSize
}

// fromAnchor reports whether the row of the last known token guesses the token after it, and each
// mask's row that after the mask.
func (a *args) fromAnchor() bool { return a.spark() && *a.DFlashConfig.SampleFromAnchor }

// A markovHead corrects a row's logits by the token before it, with two narrow matrices.
type markovHead struct {
	W1 *nn.Table  // (V, rank)
	W2 *nn.Linear // rank to V

	// Confidence maps a row and its token before to the logit of acceptance, or is nil.
	Confidence *nn.Linear // H + rank, or H, to 1
	joined     bool       // Confidence sees the token before
}

// newMarkovHead reads the heads of a DSpark drafter.
func newMarkovHead(w *nn.Weights, a *args) *markovHead {
	d, rank := a.DFlashConfig, *a.DFlashConfig.MarkovRank
	m := &markovHead{
		W1:     w.Table("markov_head.markov_w1", a.VocabSize, rank),
		W2:     w.Linear("markov_head.markov_w2", rank, a.VocabSize, false),
		joined: *d.ConfidenceHeadWithMarkov,
	}
	if path := "confidence_head.proj"; *d.EnableConfidenceHead || w.Has(path+".weight") {
		in := a.HiddenSize
		if m.joined {
			in += rank
		}
		m.Confidence = w.Linear(path, in, 1, true)
	}
	return m
}

// Markov reports whether rows are guesses only together with Correction.
func (m *Model) Markov() bool { return m.MarkovHead != nil }

// Correction returns what is added to the logits (n, V) of rows that come after the tokens previous
// (n) int32.
func (m *Model) Correction(s *mlx.Scope, previous *mlx.Array) *mlx.Array {
	return m.MarkovHead.W2.Forward(s, m.MarkovHead.W1.Rows(s, previous))
}

// Trust returns how likely the guesses of rows are right, (n) float32. It returns nil if the
// drafter does not say. The rows come after the tokens previous (n). hidden (n, H) is what Forward
// returned.
func (m *Model) Trust(s *mlx.Scope, hidden, previous *mlx.Array) *mlx.Array {
	head := m.MarkovHead
	if head.Confidence == nil {
		return nil
	}
	x := s.AsType(hidden, m.Dtype())
	if head.joined {
		x = s.Concat(-1, x, s.AsType(head.W1.Rows(s, previous), x.Dtype()))
	}
	x = s.AsType(head.Confidence.Forward(s, x), mlx.Float32)
	return s.Sigmoid(s.Reshape(x, x.Dim(0)))
}
