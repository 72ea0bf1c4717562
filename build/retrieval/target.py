"""Trains the retrieving model with full attention.

The loss is the answer's. Other tokens count little: filler is random, and what can be learned of it
is the order of a line. Prompts begin with a few lines. They grow while the model finds the codes, so
the heads that find them form where a batch holds many answers.
"""

import random

import numpy as np
import torch
import torch.nn.functional as F

import prompts
from budget import Budget
from muon import Muon

BATCH_TOKENS = 3000  # about
LINE_TOKENS, REST_TOKENS = 11, 60  # of a line; of the needle, the question and the template
FIRST_LINES, LAST_LINES = 5, 85  # of the longest prompts, at first and at last
GROWTH = 1.3
FOUND = 0.955  # share of the answers' tokens above which prompts grow
RECENT = 15  # steps over which that share is taken
LONG_EVERY, LONG_FROM = 8, 0.7  # one batch in this many has the longest size; after this share of the time
VARIED = 0.35  # share of prompts in other words, once prompts have many lines
LANGUAGE = 0.1  # weight of the tokens outside answers
LANGUAGE_SHARE = 0.25  # of them that are looked at
MATRIX_LR, VECTOR_LR = 0.02, 0.003  # Muon; AdamW, for the embedding and the norms
WEIGHT_DECAY = 0.02


def optimizers(module):
    """Returns Muon for the matrices and AdamW for the embedding and the norms."""
    matrices = [p for n, p in module.named_parameters() if p.ndim == 2 and "embed" not in n]
    others = [p for n, p in module.named_parameters() if p.ndim == 1 or "embed" in n]
    return [
        Muon(matrices, lr=MATRIX_LR, weight_decay=WEIGHT_DECAY),
        torch.optim.AdamW(others, lr=VECTOR_LR, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def draw(rng, longest, long):
    """Returns the prompts of a batch whose longest have so many lines."""
    if long:
        return [prompts.drill(rng, *prompts.SIZES["ctx280"], 0.0)]
    high = int(longest) if rng.random() < 0.6 else rng.randint(3, int(longest))
    count = max(2, BATCH_TOKENS // (high * LINE_TOKENS + REST_TOKENS))
    varied = VARIED * min(1.0, max(0.0, longest - FIRST_LINES) / 40)
    return [prompts.drill(rng, max(2, int(0.7 * high)), high, varied) for _ in range(count)]


def losses(model, encoder, rows, answers):
    """Returns (loss of the answers' tokens, loss of some others, share of the answers' tokens found)."""
    states, aims, answers = model.hidden(rows[:, :-1]), rows[:, 1:], answers[:, 1:]
    logits = model.unembed(states[answers]).float()
    found = (logits.argmax(-1) == aims[answers]).float().mean()
    others = ~answers & (aims != encoder.pad) & (torch.rand(aims.shape) < LANGUAGE_SHARE)
    language = F.cross_entropy(model.unembed(states[others]).float(), aims[others])
    return F.cross_entropy(logits, aims[answers]), language, found


def train(model, encoder, path, minutes, log=print):
    """Trains model for minutes of wall clock in all. Its state lies at path."""
    opts = optimizers(model)
    budget = Budget(path, model, opts, minutes, log)
    notes = budget.notes
    notes.setdefault("longest", float(FIRST_LINES))
    recent = []
    for step in budget:
        rng = random.Random(step)
        late = budget.seconds > LONG_FROM * 60 * minutes
        long = late and notes["longest"] >= LAST_LINES and step % LONG_EVERY == 0
        rows, answers = encoder.rows(draw(rng, notes["longest"], long))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss, language, found = losses(model, encoder, rows, answers)
        (loss + LANGUAGE * language).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for opt in opts:
            opt.step()
            opt.zero_grad()
        recent = (recent + [found.item()])[-50:]
        if len(recent) >= RECENT and np.mean(recent[-RECENT:]) > FOUND and notes["longest"] < LAST_LINES:
            notes["longest"] = min(LAST_LINES, GROWTH * notes["longest"] + 1)
            recent = []
        if step % 25 == 0:
            log(
                f"step {step}, {budget.seconds / 60:.1f} of {minutes} min, up to {notes['longest']:.0f} lines, "
                f"loss of answers {loss.item():.3f}, found {found.item():.2f}"
            )
