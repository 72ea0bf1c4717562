"""Writes the models as folders in Hugging Face's form."""

import json
import os
from dataclasses import asdict

import torch
from safetensors.torch import load_file, save_file

import tokenizer as tok


def config_json(c, t):
    end = t.token_to_id(tok.END)
    return {
        "architectures": ["Gemma3ForCausalLM"],
        "model_type": "gemma3_text",
        **asdict(c),
        "attention_bias": False,
        "hidden_activation": "gelu_pytorch_tanh",
        "tie_word_embeddings": True,
        "bos_token_id": end,
        "eos_token_id": [end, t.token_to_id("<|im_end|>")],
        "pad_token_id": t.token_to_id("<|pad|>"),
        "torch_dtype": "bfloat16",
    }


def write_json(path, value):
    with open(path, "w") as f:
        json.dump(value, f, indent=2)
        f.write("\n")


def settings(c, t, folder):
    """Writes tokenizer, config.json and generation_config.json: all but the weights."""
    tok.save(t, folder, c.max_position_embeddings)
    config = config_json(c, t)
    write_json(os.path.join(folder, "config.json"), config)
    generation = {k: config[k] for k in ("bos_token_id", "eos_token_id", "pad_token_id")}
    generation |= {"do_sample": True, "temperature": 0.6, "top_p": 0.95}
    write_json(os.path.join(folder, "generation_config.json"), generation)


def weights(model, folder, dtype=torch.bfloat16):
    """Writes model.safetensors beside its place, then moves it there."""
    save({"model." + k: v for k, v in model.state_dict().items()}, folder, dtype)


def save(tensors, folder, dtype=torch.bfloat16):
    tensors = {k: v.detach().to(dtype).contiguous() for k, v in tensors.items()}
    path = os.path.join(folder, "model.safetensors")
    save_file(tensors, path + ".part", metadata={"format": "pt"})
    os.chmod(path + ".part", 0o644)
    os.replace(path + ".part", path)


def drafter_json(c, dtype=torch.bfloat16):
    kinds = ["sliding_attention" if i in c.sliding_layers else "full_attention" for i in range(c.num_hidden_layers)]
    config = {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        **asdict(c),
        "dflash_config": {"mask_token_id": c.mask_token_id, "target_layer_ids": list(c.target_layer_ids)},
        "layer_types": kinds,
        "use_sliding_window": bool(c.sliding_layers),
        "rope_scaling": None,
        "attention_bias": False,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "torch_dtype": str(dtype).removeprefix("torch."),
    }
    for name in ("mask_token_id", "target_layer_ids", "sliding_layers"):
        del config[name]
    if not c.sliding_layers:
        config["sliding_window"] = None
    return config


def drafter(model, folder, dtype=torch.bfloat16):
    """Writes config.json and model.safetensors.

    Embedding and head are the target's and stay out.
    """
    os.makedirs(folder, exist_ok=True)
    write_json(os.path.join(folder, "config.json"), drafter_json(model.config, dtype))
    save(model.state_dict(), folder, dtype)


def load(model, folder):
    """Loads the file that weights wrote."""
    tensors = load_file(os.path.join(folder, "model.safetensors"))
    model.load_state_dict({k.removeprefix("model."): v.float() for k, v in tensors.items()})


def load_drafter(model, folder):
    """Loads the file that drafter wrote, if its tensors have model's names and shapes.

    Returns whether it did.
    """
    path = os.path.join(folder, "model.safetensors")
    tensors = load_file(path) if os.path.exists(path) else {}
    same = {k: v.shape for k, v in tensors.items()} == {k: v.shape for k, v in model.state_dict().items()}
    if same:
        model.load_state_dict({k: v.float() for k, v in tensors.items()})
    return same
