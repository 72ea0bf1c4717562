package ftheta

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/models/nn"
)

// ConfigFile is the name of the config in the folder of an f_theta.
const ConfigFile = "f_theta_config.json"

// Embeddings over which the drafter ran while an f_theta was trained.
const (
	Raw    = "raw"    // as they are stored
	Scaled = "scaled" // multiplied as the target does for itself
)

// A Config is f_theta_config.json. The first group of names is Kakeya's. The other fields are ours,
// and a file of theirs leaves them out.
type Config struct {
	DrafterNumLayers      int   `json:"drafter_num_layers"`
	DrafterNumKVHeads     int   `json:"drafter_num_kv_heads"`
	DrafterHeadDim        int   `json:"drafter_head_dim"`
	VerifierNumLayers     int   `json:"verifier_num_layers"`
	VerifierNumKVHeads    int   `json:"verifier_num_kv_heads"`
	VerifierHeadDim       int   `json:"verifier_head_dim"`
	Rank                  int   `json:"rank"`
	VerifierLayerKVHeads  []int `json:"verifier_layer_kv_heads,omitempty"`  // by layer, where they differ
	VerifierLayerHeadDims []int `json:"verifier_layer_head_dims,omitempty"` // likewise

	ExactLayers []int  `json:"exact_layers,omitempty"` // keep all their own rows; ascending
	Embedding   string `json:"embedding,omitempty"`    // of the drafter; empty = raw
	SinkSize    *int   `json:"sink_size,omitempty"`
	WindowSize  *int   `json:"window_size,omitempty"`
}

// ParseConfig reads and checks a config.
func ParseConfig(text []byte) (*Config, error) {
	c := &Config{}
	err := nn.ReadConfig(text, c)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, renamed(err)
	}
	if c.Embedding == "" {
		c.Embedding = Raw
	}
	if c.SinkSize == nil {
		c.SinkSize = new(cache.DefaultSink)
	}
	if c.WindowSize == nil {
		c.WindowSize = new(cache.DefaultWindow)
	}
	return c, nil
}

// renamed returns an error about config.json as one about the file that was read.
func renamed(err error) error {
	text := strings.Replace(err.Error(), "config.json:", ConfigFile+":", 1)
	if _, ok := errors.AsType[*nn.UnsupportedError](err); ok {
		return nn.Unsupported("%s", text)
	}
	return errors.New(text)
}

func (c *Config) check() error {
	err := cmp.Or(
		nn.CheckSizes(
			nn.Size{Name: "drafter_num_layers", Value: c.DrafterNumLayers, Max: nn.MaxLayers},
			nn.Size{Name: "drafter_num_kv_heads", Value: c.DrafterNumKVHeads, Max: nn.MaxHeads},
			nn.Size{Name: "drafter_head_dim", Value: c.DrafterHeadDim, Max: nn.MaxHeadDim},
			nn.Size{Name: "verifier_num_layers", Value: c.VerifierNumLayers, Max: nn.MaxLayers},
			nn.Size{Name: "verifier_num_kv_heads", Value: c.VerifierNumKVHeads, Max: nn.MaxHeads},
			nn.Size{Name: "verifier_head_dim", Value: c.VerifierHeadDim, Max: nn.MaxHeadDim},
			nn.Size{Name: "rank", Value: c.Rank, Max: nn.MaxHidden}),
		c.checkLayers("verifier_layer_kv_heads", c.VerifierLayerKVHeads, nn.MaxHeads),
		c.checkLayers("verifier_layer_head_dims", c.VerifierLayerHeadDims, nn.MaxHeadDim),
		c.checkExact())
	switch {
	case err != nil:
		return err
	case c.SinkSize != nil && (*c.SinkSize < 0 || *c.SinkSize > cache.MaxSink):
		return fmt.Errorf("config.json: sink_size is %d, which is not between 0 and %d",
			*c.SinkSize, cache.MaxSink)
	case c.WindowSize != nil && (*c.WindowSize < 1 || *c.WindowSize > cache.MaxWindow):
		return fmt.Errorf("config.json: window_size is %d, which is not between 1 and %d",
			*c.WindowSize, cache.MaxWindow)
	}
	switch c.Embedding {
	case "", Raw, Scaled:
		return nil
	}
	return nn.Unsupported("config.json: embedding %q is not supported, only %s and %s", c.Embedding,
		Raw, Scaled)
}

// checkLayers refuses a list that has not one size within its limit for each layer.
func (c *Config) checkLayers(name string, list []int, limit int) error {
	if list == nil {
		return nil
	}
	if len(list) != c.VerifierNumLayers {
		return fmt.Errorf("config.json: %s has %d entries for %d layers", name, len(list),
			c.VerifierNumLayers)
	}
	for i, n := range list {
		err := nn.CheckSizes(nn.Size{Name: fmt.Sprintf("%s[%d]", name, i), Value: n, Max: limit})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) checkExact() error {
	for i, l := range c.ExactLayers {
		if l < 0 || l >= c.VerifierNumLayers || i > 0 && l <= c.ExactLayers[i-1] {
			return fmt.Errorf("config.json: exact_layers %v do not ascend from 0 to %d", c.ExactLayers,
				c.VerifierNumLayers-1)
		}
	}
	return nil
}

// Shape returns the key heads and the head dimension of a layer.
func (c *Config) Shape(layer int) (kv, dim int) {
	kv, dim = c.VerifierNumKVHeads, c.VerifierHeadDim
	if c.VerifierLayerKVHeads != nil {
		kv = c.VerifierLayerKVHeads[layer]
	}
	if c.VerifierLayerHeadDims != nil {
		dim = c.VerifierLayerHeadDims[layer]
	}
	return kv, dim
}

// Exact reports whether a layer keeps all its own rows.
func (c *Config) Exact(layer int) bool { return slices.Contains(c.ExactLayers, layer) }

// Bounds returns those of a layer that looks back so many positions; 0 = all.
func (c *Config) Bounds(reach int) cache.Bounds {
	return cache.Bounds{Sink: *c.SinkSize, Window: *c.WindowSize, Reach: reach}
}

// Parameters returns the number of weights.
func (c *Config) Parameters() int64 {
	out := 0
	for i := range c.VerifierNumLayers {
		if kv, dim := c.Shape(i); !c.Exact(i) {
			out += kv * dim
		}
	}
	return 2 * int64(c.Rank) * int64(c.in()+out)
}

// in returns the elements of a position that the encoders take.
func (c *Config) in() int { return c.DrafterNumLayers * c.DrafterNumKVHeads * c.DrafterHeadDim }

// Pair checks the config against the drafter and the target that it was trained with: the drafter's
// layers with the elements of the keys of each, what the target's layers keep, and the shapes of its
// caches. A layer whose rows have another shape must be exact. Weights of other models of these sizes
// cannot be told apart.
func (c *Config) Pair(drafterLayers, drafterRow int, layers []nn.CacheSpec, target []lm.KVShape) error {
	if row := c.DrafterNumKVHeads * c.DrafterHeadDim; drafterLayers != c.DrafterNumLayers ||
		drafterRow != row {
		return fmt.Errorf("the f_theta reads a drafter of %d layers with keys of %d elements, and this one has %d with %d: take the f_theta trained on this drafter",
			c.DrafterNumLayers, row, drafterLayers, drafterRow)
	}
	if err := c.pairLayers(layers); err != nil {
		return err
	}
	for i, shape := range target {
		kv, dim := c.Shape(i)
		if shape != (lm.KVShape{}) && !c.Exact(i) && (kv != shape.Heads || dim != shape.Dim) {
			return fmt.Errorf("the f_theta restores layer %d with %d key heads of %d elements, and this model has %d of %d: take the f_theta trained for this model",
				i, kv, dim, shape.Heads, shape.Dim)
		}
	}
	return nil
}

// pairLayers checks the number of the target's layers. The last layers of a target may keep nothing;
// then the config may leave them out. If others keep nothing, their decoders would have numbers of
// layers that are none of caches.
func (c *Config) pairLayers(layers []nn.CacheSpec) error {
	caches, between := 0, false
	for i, l := range layers {
		if l.Keeps() {
			between = between || caches < i
			caches++
		}
	}
	switch n := c.VerifierNumLayers; {
	case n == caches || n == len(layers) && !between:
		return nil
	case between:
		return fmt.Errorf("the f_theta restores a model of %d layers, and this one has %d, and %d of them keep something: take an f_theta that numbers these alone",
			n, len(layers), caches)
	}
	return fmt.Errorf("the f_theta restores a model of %d layers, and this one has %d: take the f_theta trained for this model",
		c.VerifierNumLayers, len(layers))
}
