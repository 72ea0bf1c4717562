"""Writes the models as folders in Hugging Face's form, and reads them."""

import json
import os
from dataclasses import asdict

import torch
from safetensors.torch import load_file

import export
import tokenizer as tok
from ftheta import FTheta

CONFIG = "f_theta_config.json"


def settings(c, t, folder):
    """Writes tokenizer, config.json and generation_config.json: all but the weights."""
    tok.save(t, folder, c.max_position_embeddings)
    end = t.token_to_id(tok.END)
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        **asdict(c),
        "attention_bias": False,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "rope_scaling": None,
        "use_sliding_window": False,
        "bos_token_id": end,
        "eos_token_id": [end, t.token_to_id("<|im_end|>")],
        "pad_token_id": t.token_to_id("<|pad|>"),
        "torch_dtype": "float32",
    }
    export.write_json(os.path.join(folder, "config.json"), config)
    generation = {k: config[k] for k in ("bos_token_id", "eos_token_id", "pad_token_id")}
    export.write_json(os.path.join(folder, "generation_config.json"), generation | {"do_sample": False})


def f_theta(f, folder):
    """Writes f_theta_config.json and model.safetensors of an FTheta."""
    os.makedirs(folder, exist_ok=True)
    export.write_json(os.path.join(folder, CONFIG), f.config_json())
    export.save(f.state_dict(), folder, torch.float32)


def load_f_theta(drafter, target, folder):
    """Returns the FTheta that f_theta wrote, for a drafter and a target of these configs."""
    with open(os.path.join(folder, CONFIG)) as file:
        f = FTheta(drafter, target, json.load(file)["rank"])
    f.load_state_dict(load_file(os.path.join(folder, "model.safetensors")))
    return f.requires_grad_(False)
