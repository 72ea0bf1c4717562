"""Records the training forward of a drafter as a fixture for the parity tests of models/dflash.

The files have the form of build/fixtures/dflash.py, which records an implementation of its own:
- One folder is shared by all cases. It holds the drafter's weights, and the target's embedding,
  head and taps of a text.
- Each case has config.json, fixture.json and the blocks' logits in float32.

Target and drafter are small and random here, so that the fixture stays small. write takes any pair.
"""

import copy
import hashlib
import json
import os

import numpy as np
import torch
from safetensors.torch import save_file

import dflash
import export
import model

LENGTH, WINDOW = 48, 8  # tokens of the text, positions that a sliding layer sees
MIN_GAP = 1e-3  # between the two largest logits of a row, so that drafts can be compared exactly
TARGET = model.Config(
    vocab_size=96, hidden_size=32, num_hidden_layers=6, intermediate_size=64, num_attention_heads=2, num_key_value_heads=1, head_dim=16, sliding_window=16
)
DRAFTER = dflash.Config(
    vocab_size=96, hidden_size=32, num_hidden_layers=2, intermediate_size=64, num_attention_heads=4, num_key_value_heads=2, head_dim=16, sliding_window=WINDOW
)
CASES = {"training": (), "training-sliding": (0,), "training-all-sliding": (0, 1)}
SHARED = "training-shared"


@torch.no_grad()
def blocks(drafter, target, tokens, contexts):
    """Computes a block after each of contexts, numbers of context rows, in one forward.

    Returns anchors (B,), logits (B, rows - 1, V), and the logits with the mask token forbidden.
    """
    anchors = torch.tensor([contexts])
    _, taps = dflash.read(target, tokens, drafter.config.target_layer_ids)
    logits = target.unembed(drafter.hidden(target, taps, tokens, anchors))[0]
    allowed = logits.index_fill(-1, torch.tensor(drafter.config.mask_token_id), -torch.inf)
    return tokens[0, anchors[0]], logits, allowed


def write(root, name, shared, drafter, target, tokens, contexts):
    """Writes one case beside root/shared, which share wrote.

    Contexts with nearly tied guesses are left out.
    """
    anchor, logits, allowed = blocks(drafter, target, tokens, contexts)
    top = allowed.topk(2).values
    keep = (top[..., 0] - top[..., 1]).amin(-1) >= MIN_GAP
    rows = logits.shape[1]
    folder = os.path.join(root, name)
    os.makedirs(folder, exist_ok=True)
    export.write_json(os.path.join(folder, "config.json"), export.drafter_json(drafter.config))
    tensors = {
        "context": torch.tensor(contexts)[keep],
        "anchor": anchor[keep],
        "n": torch.full((int(keep.sum()),), rows),
        "logits": logits[keep].flatten(0, 1),
        "drafts": allowed[keep].argmax(-1).flatten(),
    }
    tensors = {k: v if v.is_floating_point() else v.int() for k, v in tensors.items()}
    save_file({k: v.contiguous() for k, v in tensors.items()}, os.path.join(folder, "blocks.safetensors"))
    digest = hashlib.sha256()
    for path in (os.path.join(folder, "config.json"), *(os.path.join(root, shared, f) for f in ("model.safetensors", "target.safetensors"))):
        with open(path, "rb") as f:
            digest.update(f.read())
    fixture = {
        "versions": {"torch": torch.__version__, "numpy": np.__version__},
        "command": "go run ./build pocket --stage parity",
        "input_sha256": digest.hexdigest(),
        "shared": shared,
        "settings": {},
        "from": 0,
        "embed_scale": target.embed_scale,
    }
    export.write_json(os.path.join(folder, "fixture.json"), fixture)
    return int(keep.sum())


def share(root, shared, drafter, target, tokens):
    """Writes the drafter's weights, and the target's embedding, head and taps of tokens."""
    folder = os.path.join(root, shared)
    os.makedirs(folder, exist_ok=True)
    export.save(drafter.state_dict(), folder, torch.float32)
    _, taps = dflash.read(target, tokens, drafter.config.target_layer_ids)
    embedding = target.embed_tokens.weight.detach().contiguous()
    save_file({"embedding": embedding, "head": embedding.clone(), "taps": taps[0].contiguous()}, os.path.join(folder, "target.safetensors"))


def record(root):
    """Writes all CASES of one random pair."""
    torch.manual_seed(11)
    target, drafter = model.Model(TARGET), dflash.Drafter(DRAFTER)
    tokens = torch.randint(8, TARGET.vocab_size, (1, LENGTH))
    for p in drafter.parameters():  # weights that start at 1 or very small must show in the results
        torch.nn.init.normal_(p, 1.0, 0.2) if p.ndim == 1 else torch.nn.init.normal_(p, 0.0, 1.5 / p.shape[1] ** 0.5)
    share(root, SHARED, drafter, target, tokens)
    for name, sliding in CASES.items():
        drafter.config = copy.copy(DRAFTER)
        drafter.config.sliding_layers = sliding
        count = write(root, name, SHARED, drafter, target, tokens, list(range(LENGTH - 1)))
        print(f"{name}: {count} blocks")
