"""Trains the drafter together with f_theta, on the frozen target.

f_theta is linear: it can restore only what the drafter's plain stack holds. A drafter that learned
to draft alone learned to read taps, and its stack over plain embeddings holds what its layers make
of them by chance. So both losses reach the drafter's layers: that of its blocks, and that of the
rows which f_theta restores.
"""

import random

import numpy as np
import torch
from torch import nn

import drafter as drafting
import ftheta
import prompts
import target as recipe
from budget import Budget

BATCH_TOKENS = 2400  # about
LINES = (8, 12, 16, 24, 40, 80)  # of the longest prompt of a batch
VARIED = 0.35  # share of prompts in other words
ANCHORS = 6  # from the last token of the question on


class Pair(nn.Module):
    def __init__(self, drafter, f_theta):
        super().__init__()
        self.drafter, self.f_theta = drafter, f_theta

    def losses(self, target, rows, answers, pad):
        """Returns (loss of the blocks, loss of the restored rows, tokens a verify forward would yield)."""
        record, taps = ftheta.Record(), {}
        with torch.no_grad():
            states = target.hidden(rows, tap=taps.__setitem__, record=record)
        there = rows != pad
        ends = there.sum(1)
        anchors = (ends - answers.sum(1) - 1)[:, None] + torch.arange(ANCHORS)
        reading = states, torch.cat([taps[i] for i in self.drafter.config.target_layer_ids], dim=-1)
        ahead, tokens_per_verify = drafting.loss(self.drafter, target, reading, rows, anchors, ends)
        restored = self.f_theta(*ftheta.stack(self.drafter, target, rows))
        return ahead, ftheta.loss(target, record, restored, there), tokens_per_verify


def draw(rng):
    high = rng.choice(LINES)
    count = max(1, BATCH_TOKENS // (high * recipe.LINE_TOKENS + recipe.REST_TOKENS))
    return [prompts.drill(rng, high - 3, high, VARIED) for _ in range(count)]


def train(pair, target, encoder, path, minutes, log=print):
    """Trains pair for minutes of wall clock in all. Its state lies at path."""
    opts = recipe.optimizers(pair)
    budget = Budget(path, pair, opts, minutes, log)
    seen = []
    for step in budget:
        rows, answers = encoder.rows(draw(random.Random(-1 - step)))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            ahead, rebuilt, tokens_per_verify = pair.losses(target, rows, answers, encoder.pad)
        (ahead + rebuilt).backward()
        torch.nn.utils.clip_grad_norm_(pair.parameters(), 1.0)
        for opt in opts:
            opt.step()
            opt.zero_grad()
        seen = (seen + [(ahead.item(), rebuilt.item(), tokens_per_verify.item())])[-25:]
        if step % 25 == 0:
            blocks, restored, tokens = np.mean(seen, axis=0)
            log(
                f"step {step}, {budget.seconds / 60:.1f} of {minutes} min, loss of blocks {blocks:.3f}, "
                f"of restored rows {restored:.3f}, tokens per verify {tokens:.2f}"
            )
