"""Trains the model on the libraries' text."""

import json
import os

import numpy as np
import torch

import data
from budget import Budget
from muon import Muon

BATCH_TOKENS = 8192
LONG_EVERY = round(1 / data.LONG_SHARE)  # one batch in this many has long rows
MEASURE_TOKENS = 500_000  # between two points of the curve, at least
MATRIX_LR, VECTOR_LR = 0.02, 0.003  # Muon; AdamW, for the embedding and the norms
WEIGHT_DECAY = 0.05


def optimizers(model, rate=1.0):
    """Returns Muon for matrices, AdamW for embedding and norms. rate multiplies their learning rates."""
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    embedding = [model.embed_tokens.weight]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    adam = [{"params": embedding, "weight_decay": WEIGHT_DECAY}, {"params": vectors, "weight_decay": 0.0}]
    return [
        Muon(matrices, lr=rate * MATRIX_LR, weight_decay=WEIGHT_DECAY),
        torch.optim.AdamW(adam, lr=rate * VECTOR_LR, betas=(0.9, 0.95), fused=True),
    ]


class Rows:
    """The endless sequence of batches. A batch depends on its number alone."""

    def __init__(self, docs, tokenizer, folder):
        self.docs, self.tokenizer, self.folder = docs, tokenizer, folder
        self.starts = {data.SHORT: [0], data.LONG: [0]}  # number of rows before each pass
        self.passes = []

    def load(self, number):
        paths = {length: os.path.join(self.folder, f"pass{number}-{length}.npy") for length in self.starts}
        if not all(map(os.path.exists, paths.values())):
            for length, rows in data.render_pass(self.docs, self.tokenizer, number).items():
                np.save(paths[length] + ".part.npy", rows)
                os.replace(paths[length] + ".part.npy", paths[length])
        rows = {length: np.load(path, mmap_mode="r") for length, path in paths.items()}
        self.passes.append(rows)
        for length, starts in self.starts.items():
            starts.append(starts[-1] + len(rows[length]))

    def row(self, length, i):
        while i >= self.starts[length][-1]:
            self.load(len(self.passes))
        number = np.searchsorted(self.starts[length], i, side="right") - 1
        return self.passes[number][length][i - self.starts[length][number]]

    def batch(self, step):
        """Returns a batch (B, L + 1) with B x L = BATCH_TOKENS."""
        longs = step // LONG_EVERY
        is_long = step % LONG_EVERY == LONG_EVERY - 1
        length = data.LONG if is_long else data.SHORT
        size = BATCH_TOKENS // length
        first = (longs if is_long else step - longs) * size
        return torch.from_numpy(np.stack([self.row(length, first + i) for i in range(size)]).astype(np.int64))


def held_out_loss(model, rows, batch=8):
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        losses = [model.loss(torch.from_numpy(rows[i : i + batch].astype(np.int64))).item() for i in range(0, len(rows), batch)]
    return float(np.mean(losses))


def train(model, rows, held_out, folder, minutes, log=print):
    """Trains model for minutes of wall clock in all. Earlier, interrupted calls count too.

    rows is a Rows. The loss on held_out, an array (N, L + 1), is measured every MEASURE_TOKENS
    tokens. The points are written to curve.jsonl in folder.
    """
    opts = optimizers(model)
    budget = Budget(os.path.join(folder, "checkpoint.pt"), model, opts, minutes, log)
    curve = budget.notes.setdefault("curve", [])

    def measure():
        point = {
            "step": budget.step,
            "tokens": budget.step * BATCH_TOKENS,
            "minutes": round(budget.seconds / 60, 1),
            "train": round(float(np.mean(recent)), 4),
            "held_out": round(held_out_loss(model, held_out), 4),
        }
        curve.append(point)
        with open(os.path.join(folder, "curve.jsonl"), "w") as f:
            f.writelines(json.dumps(point) + "\n" for point in curve)
        log(f"measured: {point}")

    loss_fn = torch.compile(model.loss, dynamic=False)
    recent = []
    for step in budget:
        if recent and (not curve or step * BATCH_TOKENS - curve[-1]["tokens"] >= MEASURE_TOKENS):
            measure()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_fn(rows.batch(step))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for opt in opts:
            opt.step()
            opt.zero_grad()
        recent = (recent + [loss.item()])[-50:]
        if step % 10 == 0:
            log(f"step {step}, {budget.seconds / 60:.1f} of {minutes} min, loss {np.mean(recent):.3f}")
    if recent:
        measure()
        budget.save()
