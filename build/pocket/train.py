"""Training: one loop that fits a wall-clock budget, saves every five minutes and resumes by itself."""

import json
import os
import time

import numpy as np
import torch

import data
from muon import Muon

BATCH_TOKENS = 8192
LONG_EVERY = round(1 / data.LONG_SHARE)  # one batch of long rows in this many
SAVE_SECONDS = 300
MEASURE_TOKENS = 500_000  # at least so many between two points of the curve
WARMUP_STEPS = 40
FLAT = 0.4  # share of the budget before the learning rate falls linearly to 0
MATRIX_LR, VECTOR_LR = 0.02, 0.003  # Muon; AdamW, for the embedding and the norms
WEIGHT_DECAY = 0.05


def optimizers(model):
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    embedding = [model.embed_tokens.weight]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    adam = [{"params": embedding, "weight_decay": WEIGHT_DECAY}, {"params": vectors, "weight_decay": 0.0}]
    return [
        Muon(matrices, lr=MATRIX_LR, weight_decay=WEIGHT_DECAY),
        torch.optim.AdamW(adam, lr=VECTOR_LR, betas=(0.9, 0.95), fused=True),
    ]


class Rows:
    """The endless sequence of batches. Its only state is the number of the batch."""

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
        """(B, L + 1), with B x L = BATCH_TOKENS."""
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
    """Trains model for minutes of wall clock in all, those of earlier, interrupted calls included.

    rows is a Rows; held_out, an array (N, L + 1), is measured now and then. Returns the curve, a list of dicts.
    """
    path = os.path.join(folder, "checkpoint.pt")
    opts = optimizers(model)
    step, seconds, curve = 0, 0.0, []
    if os.path.exists(path):
        saved = torch.load(path, weights_only=True)
        model.load_state_dict(saved["model"])
        for opt, state in zip(opts, saved["optimizers"]):
            opt.load_state_dict(state)
        step, seconds, curve = saved["step"], saved["seconds"], saved["curve"]
        log(f"resumed at step {step}, minute {seconds / 60:.1f}")
    rates = [[g["initial_lr"] if "initial_lr" in g else g.setdefault("initial_lr", g["lr"]) for g in opt.param_groups] for opt in opts]

    def measure():
        point = {
            "step": step,
            "tokens": step * BATCH_TOKENS,
            "minutes": round(seconds / 60, 1),
            "train": round(float(np.mean(recent)), 4),
            "held_out": round(held_out_loss(model, held_out), 4),
        }
        curve.append(point)
        log(f"measured: {point}")

    def save():
        state = {
            "model": model.state_dict(),
            "optimizers": [opt.state_dict() for opt in opts],
            "step": step,
            "seconds": seconds,
            "curve": curve,
        }
        torch.save(state, path + ".part")
        os.replace(path + ".part", path)
        with open(os.path.join(folder, "curve.jsonl"), "w") as f:
            f.writelines(json.dumps(point) + "\n" for point in curve)
        log(f"saved at step {step}")

    loss_fn = torch.compile(model.loss, dynamic=False)
    recent, last_save, clock = [], seconds, time.monotonic()
    while seconds < 60 * minutes:
        progress = seconds / (60 * minutes)
        factor = min(1, (step + 1) / WARMUP_STEPS, (1 - progress) / (1 - FLAT))
        for opt, lrs in zip(opts, rates):
            for group, lr in zip(opt.param_groups, lrs):
                group["lr"] = lr * factor
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_fn(rows.batch(step))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for opt in opts:
            opt.step()
            opt.zero_grad()
        step += 1
        recent = (recent + [loss.item()])[-50:]
        now = time.monotonic()
        seconds, clock = seconds + now - clock, now
        if step % 10 == 0:
            log(f"step {step}, {seconds / 60:.1f} of {minutes} min, loss {np.mean(recent):.3f}, {step * BATCH_TOKENS / seconds:.0f} tokens/s")
        if seconds - last_save > SAVE_SECONDS:
            if not curve or step * BATCH_TOKENS - curve[-1]["tokens"] >= MEASURE_TOKENS:
                measure()
            save()
            last_save = seconds
    if recent:
        if not curve or curve[-1]["step"] != step:
            measure()
        save()
    return curve
