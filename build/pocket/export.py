"""Writes the model as a folder in the form of a Hugging Face checkpoint."""

import json
import os
from dataclasses import asdict

import torch
from safetensors.torch import save_file

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
    """Everything but the weights."""
    tok.save(t, folder, c.max_position_embeddings)
    config = config_json(c, t)
    write_json(os.path.join(folder, "config.json"), config)
    generation = {k: config[k] for k in ("bos_token_id", "eos_token_id", "pad_token_id")}
    generation |= {"do_sample": True, "temperature": 0.6, "top_p": 0.95}
    write_json(os.path.join(folder, "generation_config.json"), generation)


def weights(model, folder, dtype=torch.bfloat16):
    """model.safetensors, written beside its place and then moved there."""
    tensors = {"model." + k: v.detach().to(dtype).contiguous() for k, v in model.state_dict().items()}
    path = os.path.join(folder, "model.safetensors")
    save_file(tensors, path + ".part", metadata={"format": "pt"})
    os.chmod(path + ".part", 0o644)
    os.replace(path + ".part", path)
