"""Writes text by the target itself. The drafter learns from it, and acceptance is measured on it.

A part is one batch: prompts of one length with the target's continuations. Prompts are cut at
random from the rows that the target was trained on. They are plain text, fill-in-the-middle and
chat in the same shares. FIM_SHARE and CHAT_SHARE of them end where the middle or the answer begins,
as such prompts do in use.

Each row is written at one of TEMPERATURES. A text ends at <|endoftext|> or <|im_end|>, or where it
begins to loop. A text of less than SHORTEST tokens is dropped.
"""

import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import torch

LOOP = 0.5  # a text loops if its share of distinct 4-grams is below this
RUN = 16  # in such a text, this many 4-grams in a row that occurred before begin the loop
PARTS_ROWS, PROMPT, CONTINUATION = 256, (16, 320), 256  # rows; tokens, from and to; tokens
FIM_SHARE, CHAT_SHARE = 0.15, 0.1
TEMPERATURES = {0.0: 0.4, 0.8: 0.35, 1.0: 0.25}  # share of the rows
SHORTEST = 24  # tokens


def distinct(ids, n=4):
    """Returns the share of distinct n-grams."""
    grams = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
    return len(set(grams)) / len(grams)


def loop_start(ids, n=4):
    """Returns where ids begins to loop: the next RUN n-grams all occurred before.

    It is len(ids) if there is no such place.
    """
    seen, run = set(), 0
    for i in range(len(ids) - n + 1):
        gram = tuple(ids[i : i + n])
        run = run + 1 if gram in seen else 0
        seen.add(gram)
        if run == RUN:
            return i - RUN + 1
    return len(ids)


def usable(ids, ends):
    """Returns (length of the beginning of ids to learn from, whether ids loop)."""
    length = next((i + 1 for i, token in enumerate(ids) if token in ends), len(ids))
    if length < SHORTEST or distinct(ids[:length]) >= LOOP:
        return length, False
    return loop_start(ids[:length]), True


@torch.no_grad()
def generate(model, prompts, count, temperature=0.0, seed=0, noise=None):
    """Continues prompts (B, L) by count tokens each and returns these, (B, count).

    temperature is a number, or a tensor with one for each row. A token is
    argmax(logits / temperature + Gumbel noise); at temperature 0 it is argmax(logits).
    noise(i), (B, V), is the noise of the i-th token. Without noise it is drawn with seed.
    """
    generator = torch.Generator().manual_seed(seed)
    x, out = torch.as_tensor(prompts), []
    temperature = torch.as_tensor(temperature, dtype=torch.float32).expand(len(x))[:, None]
    hot = temperature > 0
    caches = model.caches(x.shape[1] + count)
    with torch.autocast("cpu", dtype=torch.bfloat16):  # one context, so that the weights are cast once
        for i in range(count):
            logits = model.unembed(model.hidden(x, caches)[:, -1]).float()
            if hot.any():
                if noise:
                    g = noise(i)
                else:
                    g = -torch.empty_like(logits).exponential_(generator=generator).log_()
                logits = torch.where(hot, logits / temperature.clamp(min=1e-3) + g, logits)
            x = logits.argmax(-1, keepdim=True)
            out.append(x)
    return torch.cat(out, dim=1)


def after(rows, pattern):
    """Returns (row, position) of every place in rows (N, L) after pattern, a list of ids: (M, 2)."""
    L = rows.shape[1] - len(pattern)
    found = np.ones((rows.shape[0], L), bool)
    for i, token in enumerate(pattern):
        found &= rows[:, i : i + L] == token
    return np.argwhere(found) + (0, len(pattern))


class Prompts:
    def __init__(self, rows, tokenizer):
        """rows (N, L + 1) are the target's training rows, in memory or mapped."""
        self.rows = rows
        self.marks = [after(rows, tokenizer.encode(m).ids) for m in ("<|fim_middle|>", "<|im_start|>assistant\n")]

    def draw(self, rng, count, length):
        """Returns prompts (count, length)."""
        at = []
        for share, marks in zip((FIM_SHARE, CHAT_SHARE), self.marks):
            marks = marks[marks[:, 1] >= length]
            if len(marks):
                at += [marks[i] for i in rng.integers(0, len(marks), round(share * count))]
        while len(at) < count:
            at.append((rng.integers(0, len(self.rows)), rng.integers(length, self.rows.shape[1] + 1)))
        return np.stack([self.rows[row, end - length : end] for row, end in at]).astype(np.int64)


def part(model, prompts, tokenizer, number, rows=PARTS_ROWS):
    """Makes one part: tokens (N, L) uint16, prompt, ends (N,), temperatures (N,), counts.

    prompt is the length of the prompts. The text of row n runs from prompt to ends[n]. counts has for each temperature three numbers of
    rows: written, looping, dropped.
    """
    rng = np.random.default_rng(number)
    length = int(np.exp(rng.uniform(*np.log(PROMPT))))
    x = prompts.draw(rng, rows, length)
    temperatures = rng.choice(list(TEMPERATURES), rows, p=list(TEMPERATURES.values())).astype(np.float32)
    out = generate(model, x, CONTINUATION, torch.from_numpy(temperatures), seed=number).numpy()
    stops = {tokenizer.token_to_id("<|endoftext|>"), tokenizer.token_to_id("<|im_end|>")}
    lengths, loops = map(np.array, zip(*(usable(ids, stops) for ids in out.tolist())))
    keep = lengths >= SHORTEST
    counts = {
        f"{t}": [int(mask.sum()), int((mask & loops).sum()), int((mask & ~keep).sum())]
        for t in TEMPERATURES
        for mask in [temperatures == np.float32(t)]
    }
    return {
        "tokens": np.concatenate([x, out], axis=1)[keep].astype(np.uint16),
        "prompt": length,
        "ends": length + lengths[keep],
        "temperatures": temperatures[keep],
        "counts": json.dumps(counts),
    }


def parts(folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".npz") and not name.endswith(".part.npz"))


def start(*what):
    """Prepares a process that writes parts."""
    global writer  # of this process
    torch.set_num_threads(1)
    writer = what


def ensure(number):
    """Writes a part if it is missing. Returns (tokens of text in it, its counts)."""
    model, prompts, tokenizer, folder = writer
    path = os.path.join(folder, f"part{number:05}.npz")
    if not os.path.exists(path):
        np.savez(path + ".part.npz", **part(model, prompts, tokenizer, number))
        os.replace(path + ".part.npz", path)
    with np.load(path) as value:
        return int((value["ends"] - value["prompt"]).sum()), json.loads(str(value["counts"]))


def write(model, prompts, tokenizer, folder, tokens, processes, log=print):
    """Writes parts into folder until they hold tokens tokens of text. Parts already there count.

    Each process has one thread: two such processes write twice as much as one of two threads.
    """
    os.makedirs(folder, exist_ok=True)
    have, number, totals = 0, 0, {}
    started = time.monotonic()
    fresh = multiprocessing.get_context("spawn")  # torch's threads don't live through a fork
    with ProcessPoolExecutor(processes, fresh, start, (model, prompts, tokenizer, folder)) as pool:
        while have < tokens:
            for count, counts in pool.map(ensure, range(number, number + processes)):
                have += count
                for temperature, row in counts.items():
                    totals[temperature] = [a + b for a, b in zip(totals.get(temperature, [0, 0, 0]), row)]
            number += processes
            speed = have / (time.monotonic() - started)
            log(f"{number} parts, {have} tokens of {tokens}, {speed:.0f} tokens/s; temperature: [rows, looping, dropped] {totals}")
    return totals
