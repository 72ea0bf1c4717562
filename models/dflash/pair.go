package dflash

import (
	"fmt"

	"tandem/engine/lm"
	"tandem/models/nn"
)

// Pair checks the config.json of a drafter against the target that it is to draft for, without its
// weights.
func Pair(config []byte, target lm.Config) error {
	a, err := parseArgs(config)
	if err != nil {
		return err
	}
	_, err = a.pair(target)
	return err
}

// pair returns the target's layers that the drafter reads.
func (a *args) pair(target lm.Config) ([]int, error) {
	for _, c := range []struct {
		what         string
		mine, theirs int
	}{
		{"layers", a.NumTargetLayers, target.Layers},
		{"hidden elements", a.HiddenSize, target.HiddenSize},
		{"tokens of vocabulary", a.VocabSize, target.VocabSize},
	} {
		if c.mine != c.theirs && c.mine != 0 && !(a.muse() && c.mine == nn.MaxVocab) {
			return nil, fmt.Errorf("the drafter is made for a target with %d %s, and this one has %d: "+
				"take the drafter published for this model", c.mine, c.what, c.theirs)
		}
	}
	if mask := *a.DFlashConfig.MaskTokenID; mask >= target.VocabSize {
		return nil, fmt.Errorf("config.json: mask_token_id is %d, outside the model's vocabulary of %d",
			mask, target.VocabSize)
	}
	return a.taps(target.Layers)
}

// Settings choose between variants of a checkpoint. Published checkpoints do not say how they were
// trained. A wrong variant costs acceptance, not correctness. The zero value means what config.json
// says, or else the default.
type Settings struct {
	Embedding Embedding `json:"embedding,omitzero"`
	Sliding   Direction `json:"sliding,omitzero"`

	// Window is how many rows of context a block reads at most, the last ones; 0 = as many as
	// config.json says. A drafter that was trained on short texts may guess better for it, and long
	// texts cost less.
	Window int `json:"window,omitzero"`
}

// Embedding says how token embeddings enter a block.
type Embedding string

const (
	Scaled Embedding = "scaled" // multiplied as the target does for itself (default)
	Raw    Embedding = "raw"    // as they are stored
)

// Direction says what the rows of a block see of each other in a layer with a sliding window.
type Direction string

const (
	Causal        Direction = "causal"        // the rows up to their own (default)
	Bidirectional Direction = "bidirectional" // all rows
)

func (s Settings) check() error {
	switch s.Embedding {
	case "", Scaled, Raw:
	default:
		return fmt.Errorf("embedding %q is neither %s nor %s", s.Embedding, Scaled, Raw)
	}
	switch s.Sliding {
	case "", Causal, Bidirectional:
	default:
		return fmt.Errorf("sliding %q is neither %s nor %s", s.Sliding, Causal, Bidirectional)
	}
	if s.Window < 0 || s.Window > nn.MaxPositions {
		return fmt.Errorf("a draft window of %d rows is not between 0 and %d", s.Window, nn.MaxPositions)
	}
	return nil
}

// Variants returns the settings that the checkpoint leaves open, spelt out, the default first. It
// returns one if nothing is open. All have the window of m.
func (m *Model) Variants() []Settings {
	embeddings, directions := []Embedding{Scaled}, []Direction{""}
	if m.target.EmbedScale() != 1 && !m.args.muse() && m.EmbedTokens == nil {
		embeddings = append(embeddings, Raw)
	}
	for i := range m.Layers {
		if m.args.window(i) > 0 && m.args.DFlashConfig.Causal == nil {
			directions = []Direction{Causal, Bidirectional}
		}
	}
	var all []Settings
	for _, d := range directions {
		for _, e := range embeddings {
			all = append(all, Settings{Embedding: e, Sliding: d, Window: m.settings.Window})
		}
	}
	return all
}

// causal reports whether the rows of a block see only the rows up to their own in a layer.
func (m *Model) causal(layer int) bool {
	sliding := m.args.window(layer) > 0
	switch said := m.args.DFlashConfig.Causal; {
	case sliding && m.settings.Sliding != "":
		return m.settings.Sliding == Causal
	case said != nil:
		return *said
	}
	return sliding
}
