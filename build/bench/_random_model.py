"""Writes a random model of a given shape into a folder, for benches.

    python build/bench/_random_model.py SHAPE FOLDER

The weights of the models with 100m are large enough that a step on a CPU is bound by memory, as real models are. The two
with 30m have the caches that can be restored at some positions only: gemma3-30m rings, qwen3_5-30m recurrent states. The
tokenizer is the pocket model's: benches pass token ids anyway.
"""

import importlib
import json
import shutil
import sys
from pathlib import Path

import mlx.core as mx
from mlx.utils import tree_flatten

SMALL = {
    "hidden_size": 512,
    "num_hidden_layers": 6,
    "intermediate_size": 1024,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 128,
    "rms_norm_eps": 1e-6,
    "vocab_size": 32000,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}

# Half of the width in experts, four of them to a token.
EXPERTS = {
    **SMALL,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "num_experts": 32,
    "num_experts_per_tok": 4,
    "moe_intermediate_size": 192,
    "norm_topk_prob": True,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "rope_theta": 10000000.0,
}

SHAPES = {
    "qwen3-100m": {
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
    },
    "gemma3-30m": {
        "model_type": "gemma3_text",
        "architectures": ["Gemma3ForCausalLM"],
        **SMALL,
        "rope_theta": 1000000.0,
        "rope_local_base_freq": 10000.0,
        "query_pre_attn_scalar": 128,
        "sliding_window": 256,
        "sliding_window_pattern": 6,
    },
    "qwen3_5-30m": {
        "model_type": "qwen3_5",
        "architectures": ["Qwen3_5ForCausalLM"],
        **SMALL,
        "num_hidden_layers": 4,
        "full_attention_interval": 4,
        "linear_num_value_heads": 8,
        "linear_num_key_heads": 4,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0, "partial_rotary_factor": 0.25},
    },
    "qwen3_moe-100m": {"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], **EXPERTS},
    "qwen3_next-100m": {
        "model_type": "qwen3_next",
        "architectures": ["Qwen3NextForCausalLM"],
        **EXPERTS,
        "head_dim": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "partial_rotary_factor": 0.25,
        "full_attention_interval": 4,
        "shared_expert_intermediate_size": 192,
        "linear_num_value_heads": 8,
        "linear_num_key_heads": 4,
        "linear_key_head_dim": 64,
        "linear_value_head_dim": 64,
        "linear_conv_kernel_dim": 4,
    },
    "gpt_oss-100m": {
        "model_type": "gpt_oss",
        "architectures": ["GptOssForCausalLM"],
        **SMALL,
        "num_attention_heads": 8,
        "num_key_value_heads": 1,
        "head_dim": 64,
        "intermediate_size": 448,
        "num_local_experts": 16,
        "num_experts_per_tok": 4,
        "sliding_window": 128,
        "layer_types": ["sliding_attention", "full_attention"] * 3,
        "rope_theta": 150000.0,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 32.0,
            "original_max_position_embeddings": 4096,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
        },
        "attention_bias": True,
        "swiglu_limit": 7.0,
        "tie_word_embeddings": False,
    },
    # As 26B-A4B: experts beside the MLP, and full layers whose keys are their values.
    "gemma4-100m": {
        "model_type": "gemma4_text",
        "architectures": ["Gemma4ForCausalLM"],
        **SMALL,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "global_head_dim": 256,
        "num_global_key_value_heads": 1,
        "attention_k_eq_v": True,
        "num_kv_shared_layers": 0,
        "hidden_size_per_layer_input": 0,
        "enable_moe_block": True,
        "num_experts": 32,
        "top_k_experts": 4,
        "moe_intermediate_size": 192,
        "sliding_window": 512,
        "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
        "rope_parameters": {
            "full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"},
            "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"},
        },
        "final_logit_softcapping": 30.0,
        "hidden_activation": "gelu_pytorch_tanh",
    },
}


def main(shape, folder):
    config = SHAPES[shape]
    mx.random.seed(7)
    module = importlib.import_module("mlx_lm.models." + config["model_type"])
    model = module.Model(module.ModelArgs.from_dict(config))
    if "lm_head" in model:  # of gemma3_text, which says that its head is tied by not having it
        model.sanitize({})
    weights = {name: value.astype(mx.bfloat16) for name, value in tree_flatten(model.parameters())}
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(Path("models/pocket") / name, folder / name)
    print(f"{sum(w.size for w in weights.values()) / 1e6:.1f}M parameters")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
