"""Trains the model together with a drafter. The drafter's loss reaches the model through the taps.

A model that learned only its next token keeps little of later tokens in its states. A drafter of a
few layers then finds nothing there to read. With several tokens as an aim the states hold more of
them (Gloeckle et al. 2024, Better & Faster Large Language Models via Multi-token Prediction;
DeepSeek-V3 section 2.2).

Here the drafter learns from much real text. Then drafter.py trains it on the frozen model's own text.
"""

import numpy as np
import torch
from torch import nn

import data
import drafter
import train
from budget import Budget
from dflash import Config, Drafter

ANCHORS = 24  # a row of a batch
WEIGHT = 1.0  # factor of the drafter's loss; the model's has 1
RATE = 0.5  # factor of the model's learning rates in stage train
LOG_STEPS = 10


class Pair(nn.Module):
    def __init__(self, model, config):
        super().__init__()
        self.model, self.drafter = model, Drafter(config)

    def loss(self, rows, anchors):
        """Returns (loss, the model's part of it, tokens a verify forward would yield).

        rows are (B, L + 1). The blocks stand at anchors (B, A).
        """
        tokens, taps = rows[:, :-1], {}
        hidden = self.model.hidden(tokens, tap=taps.__setitem__)
        logits = self.model.unembed(hidden).float()
        own = nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        reading = hidden, torch.cat([taps[i] for i in self.drafter.config.target_layer_ids], dim=-1)
        ends = torch.full((len(rows),), tokens.shape[1])
        ahead, tokens_per_verify = drafter.loss(self.drafter, self.model, reading, tokens, anchors, ends)
        return own + WEIGHT * ahead, own.detach(), tokens_per_verify


def draw(step, count, length, block):
    """Draws anchors (count, ANCHORS). Their whole blocks lie within length."""
    rng = np.random.default_rng(step)
    return torch.from_numpy(rng.integers(1, length - block, (count, ANCHORS)))


def run(pair, rows, first, held_out, path, minutes, origin=None, log=print):
    """Trains pair for minutes in all on the batches of rows from first on. Its state lies at path.

    origin names the weights that pair begins with, where they may change. A state that began with
    other weights is refused. Batches of long rows train the model alone. The loss on held_out, an
    array (N, L + 1), is measured at the end.
    """
    model_opts, drafter_opts = train.optimizers(pair.model, RATE), drafter.optimizers(pair.drafter)
    opts = model_opts + drafter_opts
    budget = Budget(path, pair, opts, minutes, log)
    if budget.notes.setdefault("origin", origin) != origin:
        raise SystemExit(f"{path} began with other weights than those in --out; remove it to begin again with these")
    both = torch.compile(pair.loss, dynamic=False)
    alone = torch.compile(pair.model.loss, dynamic=False)
    losses, yields = [], []
    for step in budget:
        batch = rows.batch(first + step)
        long = batch.shape[1] - 1 != data.SHORT
        with torch.autocast("cpu", dtype=torch.bfloat16):
            if long:
                value = own = alone(batch)
            else:
                anchors = draw(step, len(batch), batch.shape[1] - 1, pair.drafter.config.block_size)
                value, own, tokens_per_verify = both(batch, anchors)
                yields = (yields + [tokens_per_verify.item()])[-50:]
        value.backward()
        for part in (pair.model, pair.drafter):
            torch.nn.utils.clip_grad_norm_([p for p in part.parameters() if p.grad is not None], 1.0)
        for opt in model_opts if long else opts:
            opt.step()
        for opt in opts:
            opt.zero_grad()
        losses = (losses + [own.item()])[-50:]
        if step % LOG_STEPS == 0:
            log(
                f"step {step}, {budget.seconds / 60:.1f} of {minutes} min, loss of the model {np.mean(losses):.3f}, "
                f"tokens per verify {np.mean(yields) if yields else 1:.2f}"
            )
    log(f"held-out loss {train.held_out_loss(pair.model, held_out):.4f}")
