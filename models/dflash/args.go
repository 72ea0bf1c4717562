package dflash

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/models/nn"
)

// Architectures of config.json that this package computes.
const (
	flashArchitecture  = "DFlashDraftModel"
	flash2Architecture = "DFlash2DraftModel"       // convolutions, and a candidate selector
	lagunaArchitecture = "DFlashLagunaForCausalLM" // context rows pass each layer's input norm
	museArchitecture   = "MuseGlimmerAssistantModel"
)

// sparkArchitectures are those of DSpark drafters, see dspark.go.
var sparkArchitectures = []string{"DSparkDraftModel", "Qwen3DSparkModel", "Lfm2DSparkDraftModel"}

const (
	// maxBlockSize is the largest block_size that a config.json may ask for.
	maxBlockSize = 1 << 10

	// maxCandidates is the largest selector_top_k. The selector scores all pairs of candidates of
	// adjacent rows.
	maxCandidates = 1 << 8
)

// args is config.json. tie_word_embeddings is not read: the head is the target's.
type args struct {
	nn.Args
	nn.RopeArgs

	Architectures    []string `json:"architectures"`
	BlockSize        int      `json:"block_size"`        // rows of a block, the anchor included
	NumTargetLayers  int      `json:"num_target_layers"` // 0 = not said
	DFlashConfig     config   `json:"dflash_config"`
	LayerTypes       []string `json:"layer_types"`
	SlidingWindow    int      `json:"sliding_window"`
	UseSlidingWindow *bool    `json:"use_sliding_window"`
	RopeInterleaved  bool     `json:"rope_interleaved"`
	AttentionBias    bool     `json:"attention_bias"`
	HiddenAct        string   `json:"hidden_act"`
	IsCausal         *bool    `json:"is_causal"` // as causal in dflash_config

	// Of the second architecture and of DSpark. The first one's logits are the target's own.
	FinalLogitSoftcapping *float64 `json:"final_logit_softcapping"`

	// Fields of dflash_config, where drafters of Muse Glimmer and DSpark have them.
	MaskTokenID    *int  `json:"mask_token_id"`
	TargetLayerIDs []int `json:"target_layer_ids"`
	sparkConfig

	// Of DSpark, outside of dflash_config alone.
	BonusAnchor    bool   `json:"dspark_bonus_anchor"` // block_size counts the anchor beside the drafts
	QueryCausal    *bool  `json:"dflash_query_causal"` // as causal in dflash_config
	RopeIsNeox     *bool  `json:"rope_is_neox_style"`
	DraftVocabSize int    `json:"draft_vocab_size"`
	LogSNR         bool   `json:"log_snr_conditioning"`
	GatedQProj     bool   `json:"enable_qwen35_gated_q_proj"`
	ModelType      string `json:"model_type"`
}

// config is the section dflash_config. BlockSize, NumTargetLayers and FinalLogitSoftcapping may
// stand outside of it.
type config struct {
	BlockSize       int   `json:"block_size"`
	NumTargetLayers int   `json:"num_target_layers"`
	MaskTokenID     *int  `json:"mask_token_id"`
	TargetLayerIDs  []int `json:"target_layer_ids"` // i = the output of layer i, counted from 0
	Causal          *bool `json:"causal"`           // inside a block, in all layers

	// Of the second architecture.
	ConvKernelSize        int      `json:"conv_kernel_size"`
	ConvGroupSize         int      `json:"conv_group_size"` // channels
	SelectorRank          int      `json:"selector_rank"`
	SelectorTopK          int      `json:"selector_top_k"`
	InputEmbeddingScale   *float64 `json:"input_embedding_scale"` // besides the target's own; nil = 1
	OutputMultiplier      *float64 `json:"output_multiplier"`     // of logits, before the cap; nil = 1
	FinalLogitSoftcapping *float64 `json:"final_logit_softcapping"`

	ProjectorType string `json:"projector_type"`
	SWAWindowSize int    `json:"swa_window_size"` // sliding_window of a DSpark drafter
	sparkConfig
}

func parseArgs(text []byte) (*args, error) {
	// Positions are the target's.
	a := &args{Args: nn.Args{MaxPositionEmbeddings: nn.MaxPositions}}
	if err := nn.ReadConfig(text, a); err != nil {
		return nil, err
	}
	a.Merge()
	if a.muse() {
		a.readMuse()
	}
	err := cmp.Or(
		lift("block_size", &a.BlockSize, a.DFlashConfig.BlockSize),
		lift("num_target_layers", &a.NumTargetLayers, a.DFlashConfig.NumTargetLayers),
		a.readSecond())
	if err != nil {
		return nil, err
	}
	if a.spark() {
		a.readSpark()
	}
	return a, a.check()
}

// readMuse puts what a config.json of Muse Glimmer's drafter says into the fields of others.
func (a *args) readMuse() {
	a.VocabSize = cmp.Or(a.VocabSize, nn.MaxVocab) // one that is not named is the target's
	a.DFlashConfig = config{MaskTokenID: a.MaskTokenID, TargetLayerIDs: a.TargetLayerIDs,
		Causal: new(false)}
	if n := a.NumHiddenLayers; a.LayerTypes == nil && n > 0 && n <= nn.MaxLayers {
		a.LayerTypes = slices.Repeat([]string{nn.SlidingAttention}, n)
	}
}

// readSecond puts what may stand at the top into dflash_config, and what is not said into its
// numbers.
func (a *args) readSecond() error {
	d := &a.DFlashConfig
	if said := a.IsCausal; said != nil {
		if d.Causal != nil && *d.Causal != *said {
			return fmt.Errorf("config.json: is_causal is %t, but causal is %t in dflash_config", *said,
				*d.Causal)
		}
		d.Causal = said
	}
	if d.FinalLogitSoftcapping == nil {
		d.FinalLogitSoftcapping = a.FinalLogitSoftcapping
	}
	for _, number := range []**float64{&d.InputEmbeddingScale, &d.OutputMultiplier} {
		if *number == nil {
			*number = new(1.0)
		}
	}
	return nil
}

// lift moves a field of dflash_config to the top, where it may stand too.
func lift(name string, top *int, nested int) error {
	if *top != 0 && nested != 0 && *top != nested {
		return fmt.Errorf("config.json: %s is %d, but %d in dflash_config", name, *top, nested)
	}
	*top = cmp.Or(*top, nested)
	return nil
}

func (a *args) check() error {
	switch {
	case len(a.Architectures) == 0:
		return fmt.Errorf("config.json: architectures is missing; that of a DFlash drafter is %s",
			flashArchitecture)
	case len(a.Architectures) > 1 ||
		a.Architectures[0] != flashArchitecture && !a.second() && !a.laguna() && !a.muse() && !a.spark():
		return nn.Unsupported("config.json: a drafter of architecture %q "+
			"is not supported, only %s, %s, %s, %s and %s", a.Architectures, flashArchitecture,
			flash2Architecture, lagunaArchitecture, strings.Join(sparkArchitectures, ", "),
			museArchitecture)
	}
	if err := a.checkProjector(); err != nil {
		return err
	}
	more := []nn.Size{{Name: "block_size", Value: a.BlockSize, Max: maxBlockSize}}
	if a.NumTargetLayers != 0 {
		more = append(more, nn.Size{Name: "num_target_layers", Value: a.NumTargetLayers,
			Max: nn.MaxLayers})
	}
	if a.slides() && slices.Contains(a.LayerTypes, nn.SlidingAttention) {
		more = append(more, nn.Size{Name: "sliding_window", Value: a.SlidingWindow,
			Max: nn.MaxPositions})
	}
	err := cmp.Or(
		a.Check(more...),
		a.CheckFullRotary(), a.CheckNotTraditional(),
		a.CheckLayerTypes(a.LayerTypes, nn.FullAttention, nn.SlidingAttention),
		a.checkTaps(),
		a.checkSecond(), a.checkSpark(),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"))
	mask := a.DFlashConfig.MaskTokenID
	switch {
	case err != nil:
		return err
	case a.block() < 2:
		return errors.New("config.json: block_size is 1: a block is the newest token and at least one draft")
	case mask == nil:
		return errors.New("config.json: dflash_config.mask_token_id is missing")
	case *mask < 0 || *mask >= a.VocabSize:
		return fmt.Errorf("config.json: dflash_config.mask_token_id is %d, outside the vocabulary of %d",
			*mask, a.VocabSize)
	case a.RopeTheta == nil:
		return errors.New("config.json: rope_theta is missing")
	case a.UseSlidingWindow != nil && *a.UseSlidingWindow && a.LayerTypes == nil:
		return nn.Unsupported("config.json: use_sliding_window is not supported without layer_types")
	}
	return nil
}

// checkProjector refuses a kind of drafter that the architecture alone does not tell.
func (a *args) checkProjector() error {
	usual := "dflash"
	if a.spark() {
		usual = sparkProjector
	}
	if p := a.DFlashConfig.ProjectorType; p != "" && p != usual {
		return nn.Unsupported("config.json: projector_type %q is not supported for %s, only %s", p,
			a.Architectures[0], usual)
	}
	return nil
}

// checkSecond checks what the second architecture has of its own.
func (a *args) checkSecond() error {
	if !a.second() {
		return nil
	}
	d := a.DFlashConfig
	numbers := []nn.Number{
		{Name: "dflash_config.input_embedding_scale", Value: *d.InputEmbeddingScale},
		{Name: "dflash_config.output_multiplier", Value: *d.OutputMultiplier},
	}
	err := cmp.Or(nn.CheckPositive(numbers...), nn.CheckSizes(
		nn.Size{Name: "dflash_config.conv_kernel_size", Value: d.ConvKernelSize, Max: maxBlockSize},
		nn.Size{Name: "dflash_config.conv_group_size", Value: d.ConvGroupSize, Max: nn.MaxHidden},
		nn.Size{Name: "dflash_config.selector_rank", Value: d.SelectorRank, Max: nn.MaxHidden},
		nn.Size{Name: "dflash_config.selector_top_k", Value: d.SelectorTopK, Max: maxCandidates}))
	switch {
	case err != nil:
		return err
	case a.HiddenSize%d.ConvGroupSize != 0:
		return fmt.Errorf("config.json: dflash_config.conv_group_size is %d, "+
			"which does not divide the %d hidden elements", d.ConvGroupSize, a.HiddenSize)
	case d.SelectorTopK > a.VocabSize:
		return fmt.Errorf("config.json: dflash_config.selector_top_k is %d, more than the %d tokens",
			d.SelectorTopK, a.VocabSize)
	}
	return nil
}

// second reports whether it is a drafter of the second architecture.
func (a *args) second() bool { return slices.Equal(a.Architectures, []string{flash2Architecture}) }

func (a *args) laguna() bool { return a.Architectures[0] == lagunaArchitecture }

// muse reports whether it is a drafter of Muse Glimmer. An architecture may be missing.
func (a *args) muse() bool { return slices.Equal(a.Architectures, []string{museArchitecture}) }

func (a *args) checkTaps() error {
	ids := a.DFlashConfig.TargetLayerIDs
	for i, id := range ids {
		if id < 0 || i > 0 && id <= ids[i-1] {
			return fmt.Errorf("config.json: dflash_config.target_layer_ids %v do not ascend from 0",
				ids)
		}
	}
	return nil
}

// slides reports whether layer_types names sliding layers rightly. A use_sliding_window of false
// turns them all into full layers.
func (a *args) slides() bool { return a.UseSlidingWindow == nil || *a.UseSlidingWindow }

// window returns how many positions a layer attends, its own included; 0 = all.
func (a *args) window(layer int) int {
	if a.LayerTypes == nil || !a.slides() || a.LayerTypes[layer] != nn.SlidingAttention {
		return 0
	}
	if a.muse() {
		return a.SlidingWindow + 1 // counts the positions before
	}
	return a.SlidingWindow
}

// taps returns the layers whose outputs the drafter reads, of a target of n layers. If the config
// names none, a drafter of one layer reads the middle one. Other drafters read as many as they have
// layers, evenly from 1 to n-3, halves rounded to even.
func (a *args) taps(n int) ([]int, error) {
	ids := a.DFlashConfig.TargetLayerIDs
	if len(ids) == 0 {
		ids = []int{n / 2}
		if many := a.countTaps(); many > 1 {
			if n-4 < many-1 {
				return nil, fmt.Errorf("config.json: dflash_config.target_layer_ids is missing, "+
					"and %d of the target's %d layers can't be chosen by rule", many, n)
			}
			ids = make([]int, many)
			step := float64(n-4) / float64(many-1)
			for i := range ids {
				ids[i] = int(math.RoundToEven(1 + float64(i)*step))
			}
		}
	}
	if last := ids[len(ids)-1]; last >= n {
		return nil, fmt.Errorf("the drafter reads layer %d of its target, "+
			"and this one has layers 0 to %d: it was made for another model", last, n-1)
	}
	return ids, nil
}

// countTaps returns how many layers of its target the drafter reads.
func (a *args) countTaps() int {
	return cmp.Or(len(a.DFlashConfig.TargetLayerIDs), a.NumHiddenLayers)
}
