package nn

import "strings"

// wrappers are the prefixes that checkpoints put before the names of a text model: model. as most,
// language_model.model. as MLX's conversions and model.language_model. as transformers, of models
// that also see.
var wrappers = []string{"model.", "language_model.", "text_model."}

// otherParts lists the prefixes of names that are not the text model's: what sees or hears, what joins
// that to the text, and heads that predict several tokens. what names their input for users.
var otherParts = []struct{ prefix, what string }{
	{"vision", Images}, {"visual", Images}, {"image", Images}, {"embed_vision", Images},
	{"multi_modal", Images}, {"mm_", Images}, {"patch_merger", Images}, {"connector", Images},
	{"audio", Sound}, {"embed_audio", Sound},
	{"mtp", ""},
}

// Inputs that a text model does not support, though its checkpoint has parts for them.
const (
	Images = "images"
	Sound  = "sound"
)

// TextName returns what a text model calls a tensor or a module of a checkpoint, however the
// checkpoint wraps it: model.embed_tokens, model.layers, model.norm and lm_head. keep is false for
// what belongs to another half of the checkpoint. Other names stay as they are.
func TextName(name string) (to string, keep bool) {
	to, _, keep = textName(name)
	return to, keep
}

// textName is TextName. It also returns the input of a part of another half, see otherParts.
func textName(name string) (to, what string, keep bool) {
	rest := name
	for cut := true; cut; {
		cut = false
		for _, prefix := range wrappers {
			if after, ok := strings.CutPrefix(rest, prefix); ok {
				rest, cut = after, true
			}
		}
	}
	first, _, _ := strings.Cut(rest, ".")
	switch first {
	case "embed_tokens", "layers", "norm",
		"embed_tokens_per_layer", "per_layer_model_projection", "per_layer_projection_norm":
		return "model." + rest, "", true
	case headPath:
		return rest, "", true
	}
	for _, part := range otherParts {
		if strings.HasPrefix(first, part.prefix) {
			return name, part.what, false
		}
	}
	return name, "", true
}

// LMHeadArgs is what config.json says about the LM head. It implements Sanitize of [Architecture].
type LMHeadArgs struct {
	TieWordEmbeddings *bool `json:"tie_word_embeddings"`
}

// Tied reports whether the embedding is the head too. If config.json does not say it, a head in the
// checkpoint decides. Families have other defaults in other programs.
func (h *LMHeadArgs) Tied(w *Weights) bool {
	if h.TieWordEmbeddings != nil {
		return *h.TieWordEmbeddings
	}
	return !w.Has(headPath + ".weight")
}

// Sanitize returns the [TextName] of a tensor. It leaves out the head if config.json ties it, and
// rotary frequencies that old converters stored.
func (h *LMHeadArgs) Sanitize(name string) (to string, keep bool) {
	to, keep = TextName(name)
	tied := h.TieWordEmbeddings != nil && *h.TieWordEmbeddings
	drop := strings.HasSuffix(to, ".rotary_emb.inv_freq") ||
		tied && strings.HasPrefix(to, headPath+".")
	return to, keep && !drop
}
