"""Lets the starter answer prompts, many at once. The drafter learns from the answers.

A part is a file with the answers to ROWS prompts. It depends on its number alone.
The temperature of each row is one of TEMPERATURES: people leave the starter at 0. An answer ends at
its natural end, after LONGEST tokens, or where it begins to loop. One of less than SHORTEST tokens
is dropped.
"""

import functools
import json
import multiprocessing
import os
import time
from concurrent.futures import Future, ProcessPoolExecutor

import numpy as np
import torch

import texts
from generate import LOOP, distinct, loop_start
from prompts import LONGEST as LONGEST_PROMPT
from prompts import Prompts
from target import Cache, Target

ROWS = 384  # a part
SLOTS, REFILL = 96, 16  # texts at once, on a CPU; free slots before prompts are read into them
LONGEST, SHORTEST = 320, 8  # tokens of an answer
TEMPERATURES = {0.0: 0.6, 0.8: 0.25, 1.0: 0.15}  # share of the rows
COMPACT = 0.8  # free slots are dropped when no prompt waits and fewer than this share is in use
LOOK = 64  # tokens that are looked at for a loop
NICE = 19


class Slots:
    """Texts that are answered at the same time. A text that ended gives its slot to the next prompt."""

    def __init__(self, target, prompts, temperatures, generator):
        self.target, self.prompts, self.generator = target, prompts, generator
        self.temperatures = temperatures  # (N,)
        self.out = [[] for _ in prompts]
        self.waiting = list(range(len(prompts)))[::-1]
        size = min(SLOTS if torch.get_default_device().type == "cpu" else ROWS, len(prompts))
        self.cache = Cache(target.config, size, LONGEST_PROMPT + LONGEST)
        self.texts = torch.full((size,), -1)  # text of each slot, -1 if it is free
        self.lengths = torch.zeros(size, dtype=torch.long)  # tokens in the cache
        self.newest = torch.zeros(size, dtype=torch.long)

    @torch.no_grad()
    def run(self):
        """Returns the answers, a list of lists of ids."""
        while self.waiting or (self.texts >= 0).any():
            free = (self.texts < 0).nonzero().flatten().tolist()
            if self.waiting and len(free) >= min(REFILL, len(self.waiting)):
                self.fill(free)
            self.compact()
            logits = self.target.step(self.newest, self.lengths, self.cache)
            self.lengths = torch.where(self.texts < 0, self.lengths, self.lengths + 1)
            self.take(torch.arange(len(self.texts)), logits)
        return self.out

    def fill(self, slots):
        """Reads the next prompts into free slots."""
        slots = slots[: len(self.waiting)]
        texts = [self.waiting.pop() for _ in slots]
        lengths = torch.tensor([len(self.prompts[t]) for t in texts])
        tokens = torch.zeros(len(texts), int(lengths.max()), dtype=torch.long)
        for row, t in enumerate(texts):
            tokens[row, : len(self.prompts[t])] = torch.tensor(self.prompts[t])
        slots = torch.tensor(slots)
        logits = self.target.prefill(tokens, lengths, self.cache, slots)
        self.texts[slots], self.lengths[slots] = torch.tensor(texts), lengths
        self.take(slots, logits)

    def compact(self):
        """Drops free slots when no prompt waits."""
        keep = (self.texts >= 0).nonzero().flatten()
        if not self.waiting and len(keep) < COMPACT * len(self.texts) and len(keep):
            self.cache.keep(keep)
            self.texts, self.lengths, self.newest = self.texts[keep], self.lengths[keep], self.newest[keep]

    def take(self, slots, logits):
        """Draws the next token of slots from logits (B, V), and frees the slots of texts that end."""
        texts = self.texts[slots]
        chosen = choose(logits.float(), torch.where(texts < 0, 0.0, self.temperatures[texts]), self.generator)
        self.newest[slots] = chosen
        for slot, t, token in zip(slots.tolist(), texts.tolist(), chosen.tolist()):
            if t < 0:
                continue
            ids = self.out[t]
            ids.append(token)
            loops = len(ids) % LOOK == 0 and distinct(ids[-LOOK:]) < LOOP
            if token == self.target.config.eos_token_id or len(ids) == LONGEST or loops:
                self.texts[slot], self.lengths[slot] = -1, 0


def choose(logits, temperatures, generator):
    """Draws a token for each row of logits (B, V). At temperature 0 it is the likeliest one."""
    chosen = logits.argmax(-1)
    hot = (temperatures > 0).nonzero().flatten()
    if len(hot):
        sums = (logits[hot] / temperatures[hot, None]).softmax(-1).cumsum(-1)
        at = torch.rand(len(hot), 1, generator=generator) * sums[:, -1:]
        chosen[hot] = torch.searchsorted(sums, at).flatten().clamp(max=logits.shape[1] - 1)
    return chosen


def usable(ids):
    """Returns (length of the beginning of ids to learn from, whether ids loop)."""
    if len(ids) < 24 or distinct(ids) >= LOOP:
        return len(ids), False
    return loop_start(ids), True


def draw(prompts, number):
    """Returns the prompts of a part, a list of (ids, kind), from prompts, and the generator that goes on."""
    rng = np.random.default_rng(number)
    return [prompts.draw(rng) for _ in range(ROWS)], rng


class Drawn:
    """The prompts of parts as write_prompts left them, for a machine without the texts."""

    def __init__(self, path):
        with np.load(path) as stored:
            self.tokens, self.starts, self.kinds = stored["tokens"], stored["starts"], stored["kinds"]

    def of(self, number):
        """Returns what draw returns. The generator goes another way."""
        if (number + 1) * ROWS > len(self.kinds):
            raise SystemExit(f"prompts were drawn for {len(self.kinds) // ROWS} parts; draw more with --stage prompts")
        drawn = range(number * ROWS, (number + 1) * ROWS)
        ids = [self.tokens[self.starts[i] : self.starts[i + 1]].tolist() for i in drawn]
        return list(zip(ids, self.kinds[drawn.start : drawn.stop].tolist())), np.random.default_rng(number)


def write_prompts(path, prompts, parts, log=print):
    """Writes the prompts of the first parts to path."""
    drawn = [d for number in range(parts) for d in draw(prompts, number)[0]]
    np.savez_compressed(
        path,
        tokens=np.concatenate([np.array(ids, np.uint16) for ids, _ in drawn]),
        starts=np.cumsum([0] + [len(ids) for ids, _ in drawn]),
        kinds=np.array([kind for _, kind in drawn]),
    )
    log(f"{len(drawn)} prompts for {parts} parts in {path}")


def part(target, drawn, rng, number):
    """Makes one part of prompts that draw returned.

    tokens      (all tokens,) uint16: each prompt with its answer, one after the other
    starts      (N + 1,) where each text begins in tokens
    prompts     (N,) tokens of each prompt
    kinds       (N,) names of prompts.SHARES
    temperatures (N,)
    counts      JSON: answers, those that loop, those that were dropped
    """
    temperatures = rng.choice(list(TEMPERATURES), ROWS, p=list(TEMPERATURES.values())).astype(np.float32)
    generator = torch.Generator(torch.get_default_device()).manual_seed(number)
    slots = Slots(target, [ids for ids, _ in drawn], torch.tensor(temperatures), generator)
    out = slots.run()
    rows, counts = [], {"answers": ROWS, "looping": 0, "dropped": 0}
    for (ids, kind), more, temperature in zip(drawn, out, temperatures):
        length, loops = usable(more)
        counts["looping"] += loops
        if length < SHORTEST:
            counts["dropped"] += 1
            continue
        rows.append((ids + more[:length], len(ids), kind, temperature))
    return {
        "tokens": np.concatenate([np.array(r[0], np.uint16) for r in rows]),
        "starts": np.cumsum([0] + [len(r[0]) for r in rows]),
        "prompts": np.array([r[1] for r in rows]),
        "kinds": np.array([r[2] for r in rows]),
        "temperatures": np.array([r[3] for r in rows]),
        "counts": json.dumps(counts),
    }


def parts(folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("part") and name.endswith(".npz"))


def count(path):
    """Returns (answered tokens of a part, its counts)."""
    with np.load(path) as value:
        return int(value["starts"][-1] - value["prompts"].sum()), json.loads(str(value["counts"]))


def start(folder, tokenizer, held_out):
    """Prepares a process that writes parts."""
    global maker  # of this process
    os.nice(NICE - os.nice(0))
    torch.set_num_threads(1)
    prompts = Prompts(texts.documents()[held_out], tokenizer, held_out)
    maker = Target(folder, LONGEST_PROMPT + LONGEST), functools.partial(draw, prompts)


class Here:
    """Makes parts in this process, in the form of a pool of processes: a GPU has one."""

    def __init__(self, target, drawn):
        global maker
        maker = Target(target, LONGEST_PROMPT + LONGEST), drawn.of

    def submit(self, call, *args):
        done = Future()
        done.set_result(call(*args))
        return done

    def shutdown(self, **_):
        pass


def ensure(folder, number):
    """Writes a part if it is missing. Returns count of it."""
    path = os.path.join(folder, f"part{number:05}.npz")
    if not os.path.exists(path):
        made = os.path.join(folder, f".part{number:05}.npz")
        target, drawn = maker
        np.savez_compressed(made, **part(target, *drawn(number), number))
        os.replace(made, path)
    return count(path)


def write(target, tokenizer, folder, tokens, processes, held_out=False, log=print):
    """Writes parts into folder until they hold tokens answered tokens. Parts already there count.

    Each process has one thread: two such processes write more than one of two threads. They run at
    the lowest priority. A GPU writes in this process, from prompts that write_prompts left beside the
    folder. target is the starter's folder.
    """
    os.makedirs(folder, exist_ok=True)
    have, totals, began, before = 0, {}, time.monotonic(), sum(count(p)[0] for p in parts(folder))
    if torch.get_default_device().type == "cpu":
        fresh = multiprocessing.get_context("spawn")  # torch's threads don't live through a fork
        pool = ProcessPoolExecutor(processes, fresh, start, (target, tokenizer, held_out))
    else:
        pool, processes = Here(target, Drawn(folder + "-prompts.npz")), 0
    try:
        number, waiting = 0, []
        while have < tokens:
            coming = have / max(1, number - len(waiting)) * len(waiting)  # a part is finished even if no one needs it
            while not waiting or len(waiting) < 2 * processes and have + coming < tokens:
                waiting.append(pool.submit(ensure, folder, number))
                number += 1
                coming += have / max(1, number - len(waiting))
            more, counts = waiting.pop(0).result()
            have += more
            totals = {name: totals.get(name, 0) + n for name, n in counts.items()}
            speed = max(0, have - before) / (time.monotonic() - began)
            log(f"{number - len(waiting)} parts, {have} tokens of {tokens}, {speed:.0f} tokens/s, {totals}")
    finally:
        pool.shutdown(cancel_futures=True)
    return totals
