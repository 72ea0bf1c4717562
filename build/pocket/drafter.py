"""Trains the drafter on text the target wrote, many blocks of a sequence in one forward.

The target is frozen.

The loss of a row has two parts:
- MIX parts of cross entropy to the target's own distribution at that position, given the text
  before it.
- 1 - MIX parts of cross entropy to the token that stands there.

Row j of a block weighs exp(-(j - 1) / gamma), because an early error also costs the rows after it.
The forward that gives the taps gives the target's distribution too.
"""

import functools
import random

import numpy as np
import torch
import torch.nn.functional as F

import generate
from budget import Budget
from dflash import read
from muon import Muon

SEQUENCES, ANCHORS = 8, 48  # a step; a sequence
WIDTH = 192  # tokens; sequences are padded to a multiple: each length costs torch.compile a program
GAMMA = {4: 2.0, 8: 4.0, 16: 7.0}  # by block size
MIX = 0.5
MATRIX_LR, VECTOR_LR = 0.02, 0.003  # Muon; AdamW, for the norms
WEIGHT_DECAY = 0.02
RATE = 0.5  # factor of these rates after stage joint
VARIANT_RATE = 0.1  # factor when a finished drafter becomes a variant


def weights(block_size):
    """Returns the weights of rows 1 to block_size - 1 in the loss."""
    return torch.exp(-torch.arange(block_size - 1) / GAMMA[block_size])


def loss(drafter, target, reading, tokens, anchors, ends, mix=MIX):
    """Returns (loss, tokens a verify forward would yield by argmax) of blocks at anchors (B, A).

    The texts lie in tokens (B, L) and end before ends (B,). reading is dflash.read of tokens.
    """
    c = drafter.config
    B, A = anchors.shape
    hidden, taps = reading
    positions = anchors[:, :, None] + torch.arange(1, c.block_size)  # (B, A, rows - 1)
    there = positions < ends[:, None, None]
    positions = positions.clamp(max=tokens.shape[1] - 1).view(B, -1)
    labels = tokens.gather(1, positions)
    with torch.no_grad():
        before = hidden.gather(1, (positions - 1)[:, :, None].expand(-1, -1, hidden.shape[2]))
        aims = target.unembed(before).float().softmax(-1)
    logits = target.unembed(drafter.hidden(target, taps, tokens, anchors)).float().flatten(1, 2)
    logp = logits.log_softmax(-1)
    of_label = logp.gather(2, labels[:, :, None])[:, :, 0]
    entropy = -(mix * (aims * logp).sum(-1) + (1 - mix) * of_label).view(there.shape)
    w = weights(c.block_size) * there
    hits = (logits.argmax(-1) == labels).view(there.shape) & there
    return (entropy * w).sum() / w.sum(), 1 + hits.float().cumprod(-1).sum(-1).mean()


def optimizers(drafter, rate=1.0):
    """Returns Muon for matrices and AdamW for norms. rate multiplies their learning rates."""
    matrices = [p for p in drafter.parameters() if p.ndim == 2]
    vectors = [p for p in drafter.parameters() if p.ndim == 1]
    return [
        Muon(matrices, lr=rate * MATRIX_LR, weight_decay=WEIGHT_DECAY),
        torch.optim.AdamW(vectors, lr=rate * VECTOR_LR, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    ]


class Texts:
    """Batches from the parts that generate.write wrote. A batch depends on its number alone."""

    def __init__(self, folder):
        self.batches = []  # (part, rows of it)
        self.parts = []
        for number, path in enumerate(generate.parts(folder)):
            with np.load(path) as part:
                self.parts.append({name: part[name] for name in ("tokens", "prompt", "ends")})
            count = len(self.parts[-1]["ends"]) // SEQUENCES
            self.batches += [(number, i) for i in range(count)]

    def batch(self, step):
        """Returns (keys of the texts, tokens (B, L), anchors (B, A), ends (B,)).

        Every text comes once an epoch. Each epoch has another order and other batches.
        """
        epoch, i = divmod(step, len(self.batches))
        number, i = random.Random(epoch).sample(self.batches, len(self.batches))[i]
        part = self.parts[number]
        order = np.random.default_rng((epoch, number)).permutation(len(part["ends"]))
        rows = order[i * SEQUENCES : (i + 1) * SEQUENCES]
        tokens, ends = part["tokens"][rows].astype(np.int64), part["ends"][rows]
        at = np.random.default_rng(step).random((SEQUENCES, ANCHORS))
        anchors = part["prompt"] + (at * (ends[:, None] - 1 - part["prompt"])).astype(np.int64)  # one token after each at least
        length = -(-int(ends.max()) // WIDTH) * WIDTH
        tokens = np.pad(tokens[:, :length], ((0, 0), (0, max(0, length - tokens.shape[1]))))
        return [(number, row) for row in rows.tolist()], torch.from_numpy(tokens), torch.from_numpy(anchors), torch.from_numpy(ends)


class Readings:
    """Keeps the target's states and taps of the texts in memory, 3 KB a token.

    So the target computes them in the first epoch only.
    """

    def __init__(self, target, ids):
        self.read = torch.compile(functools.partial(read, target, ids=ids), dynamic=False)
        self.rows = {}  # key of a text: (states under the head, taps), (L, ...) each, in bfloat16

    def of(self, keys, tokens, ends):
        """Returns dflash.read of tokens (B, L) of the texts keys. Rows are 0 from ends (B,) on."""
        if any(key not in self.rows for key in keys):
            hidden, taps = (x.bfloat16() for x in self.read(tokens))
            self.rows |= {key: (h[:end].clone(), t[:end].clone()) for key, h, t, end in zip(keys, hidden, taps, ends.tolist())}
        rows = [self.rows[key] for key in keys]
        return tuple(torch.stack([F.pad(row[i], (0, 0, 0, tokens.shape[1] - len(row[i]))) for row in rows]) for i in range(2))


def train(drafter, target, texts, path, minutes, rate=RATE, log=print):
    """Trains drafter for minutes in all. Its state lies at path."""

    opts = optimizers(drafter, rate)
    budget = Budget(path, drafter, opts, minutes, log)
    readings = Readings(target, drafter.config.target_layer_ids)
    step_loss = torch.compile(functools.partial(loss, drafter, target), dynamic=False)
    losses, yields = [], []
    for step in budget:
        keys, tokens, anchors, ends = texts.batch(step)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            reading = readings.of(keys, tokens, ends)
            value, tokens_per_verify = step_loss(reading, tokens, anchors, ends)
        value.backward()
        torch.nn.utils.clip_grad_norm_(drafter.parameters(), 1.0)
        for opt in opts:
            opt.step()
            opt.zero_grad()
        losses, yields = (losses + [value.item()])[-50:], (yields + [tokens_per_verify.item()])[-50:]
        if step % 20 == 0:
            log(
                f"step {step}, epoch {step / len(texts.batches):.1f}, {budget.seconds / 60:.1f} of {minutes} min, "
                f"loss {np.mean(losses):.3f}, tokens per verify {np.mean(yields):.2f}"
            )
