// Package qwen35 is Qwen3.5 and Qwen3.6 (text half), dense and with experts: model types qwen3_5,
// qwen3_5_moe, and the same with _text.
//
// Unusual in it:
//
//   - In each group of full_attention_interval (4) layers, all but the last are gated delta nets
//     (nn.GatedDelta). Their state does not grow. They need exact restore points and must not see
//     padding.
//   - The last layer of a group is attention. Its q_proj has a gate beside each query. Its rotary
//     embedding turns only the first quarter of a head.
//   - Queries and keys are normalised per head before the rotary embedding.
//   - Published norms multiply by 1 + weight. MLX's conversions have added the 1 already. The
//     layout of conv1d tells them apart, as in mlx_lm's Model.sanitize. The norm inside the delta
//     nets is stored as it is used.
//   - A layer with experts has one more expert that all rows share. A gate weighs it.
//   - Checkpoints also hold a vision half, which is not loaded, and a head for multi-token
//     prediction (mtp.*). The head is a drafter, see [MTP].
package qwen35

import (
	"strings"

	"tandem/models/nn"
)

func (a *args) New(w *nn.Weights) nn.Model { return a.Decoder(w, a.Tied(w)) }

func (a *args) Sanitize(name string) (string, bool) {
	name, keep := a.LMHeadArgs.Sanitize(name)
	return renameExperts(name), keep
}

// renameExperts gives published experts the names of conversions, which store gate and up apart.
func renameExperts(name string) (to string) {
	if path, ok := strings.CutSuffix(name, ".experts.gate_up_proj"); ok {
		return path + ".switch_mlp.gate_up_proj.weight"
	}
	if path, ok := strings.CutSuffix(name, ".experts.down_proj"); ok {
		return path + ".switch_mlp.down_proj.weight"
	}
	return name
}
