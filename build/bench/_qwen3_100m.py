"""Writes a random Qwen3 of 100 million parameters into a folder, for benches.

    python build/bench/_qwen3_100m.py FOLDER

Its weights are large enough that a step on a CPU is bound by memory, as real models are, and cost nothing to get. The
tokenizer is the pocket model's: both sides of a bench pass token ids anyway.
"""

import json
import shutil
import sys
from pathlib import Path

import mlx.core as mx
from mlx.utils import tree_flatten
from mlx_lm.models import qwen3

CONFIG = {
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "hidden_size": 640,
    "num_hidden_layers": 12,
    "intermediate_size": 2560,
    "num_attention_heads": 10,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "rms_norm_eps": 1e-6,
    "vocab_size": 32000,
    "rope_theta": 1000000.0,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}


def main(folder):
    mx.random.seed(7)
    model = qwen3.Model(qwen3.ModelArgs.from_dict(CONFIG))
    weights = {name: value.astype(mx.bfloat16) for name, value in tree_flatten(model.parameters())}
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(Path("models/pocket") / name, folder / name)
    print(f"{sum(w.size for w in weights.values()) / 1e6:.1f}M parameters")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
