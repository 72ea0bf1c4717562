"""Writes a drafter as a folder in Hugging Face's form, its matrices in MLX's affine form of few bits."""

import json
import os

import numpy as np
import torch
from safetensors.torch import save_file

GROUP = 64
BITS, TABLE_BITS = 8, 4


def config_json(c, bits):
    config = {
        "architectures": ["DFlash2DraftModel" if c.selector_rank else "DFlashDraftModel"],
        "model_type": "qwen3",
        "hidden_size": c.hidden_size,
        "num_hidden_layers": c.num_hidden_layers,
        "intermediate_size": c.intermediate_size,
        "num_attention_heads": c.num_attention_heads,
        "num_key_value_heads": c.num_key_value_heads,
        "head_dim": c.head_dim,
        "vocab_size": c.vocab_size,
        "rms_norm_eps": c.rms_norm_eps,
        "rope_theta": c.rope_theta,
        "rope_scaling": None,
        "max_position_embeddings": 8192,
        "block_size": c.block_size,
        "num_target_layers": c.num_target_layers,
        "layer_types": ["full_attention"] * c.num_hidden_layers,
        "use_sliding_window": False,
        "sliding_window": None,
        "attention_bias": False,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "dflash_config": {
            "block_size": c.block_size,
            "mask_token_id": c.mask_token_id,
            "target_layer_ids": list(c.target_layer_ids),
        },
        "quantization": {"group_size": GROUP, "bits": BITS} | bits,
    }
    if c.selector_rank:
        config["dflash_config"] |= {
            "conv_kernel_size": c.conv_kernel_size,
            "conv_group_size": c.conv_group_size,
            "selector_rank": c.selector_rank,
            "selector_top_k": c.selector_top_k,
        }
    return config


def quantize(weight, bits):
    """Returns (packed uint32, scales, biases) of a matrix (rows, columns) in MLX's affine form."""
    rows, columns = weight.shape
    groups = weight.float().view(rows, columns // GROUP, GROUP)
    low, high = groups.amin(-1, keepdim=True), groups.amax(-1, keepdim=True)
    scales = ((high - low) / (2**bits - 1)).clamp(min=1e-8).bfloat16().float()
    biases = low.bfloat16().float()
    values = ((groups - biases) / scales).round().clamp(0, 2**bits - 1).to(torch.int64).view(rows, -1, 32 // bits)
    packed = (values << (torch.arange(32 // bits) * bits)).sum(-1).numpy().astype(np.uint32)
    return torch.from_numpy(packed), scales[..., 0].bfloat16(), biases[..., 0].bfloat16()


def tensors(model):
    """Returns ({name: tensor}, {path: how it is packed, where that is not BITS})."""
    stored, bits = {}, {}
    for name, value in model.state_dict().items():
        table = "codebook" in name
        if value.ndim != 2:
            stored[name] = value.bfloat16().contiguous()
            continue
        path = name.removesuffix(".weight")
        packed, scales, biases = quantize(value, TABLE_BITS if table else BITS)
        stored |= {path + ".weight": packed, path + ".scales": scales, path + ".biases": biases}
        if table:
            bits[path] = {"group_size": GROUP, "bits": TABLE_BITS}
    stored["draft_head.ids"] = model.head_ids.int()
    return stored, bits


def drafter(model, folder):
    """Writes config.json and model.safetensors. Embedding and head are the target's and stay out."""
    os.makedirs(folder, exist_ok=True)
    stored, bits = tensors(model)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config_json(model.config, bits), f, indent=2)
        f.write("\n")
    path = os.path.join(folder, "model.safetensors")
    save_file(stored, path + ".part", metadata={"format": "pt"})
    os.chmod(path + ".part", 0o644)
    os.replace(path + ".part", path)
