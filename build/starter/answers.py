"""Lets the starter answer prompts, many at once. The drafter learns from the answers.

A folder's name says where its prompts come from:

    answers, held-out       the texts of the machine, and those of them that no drafter learns from
    chats, held-out-chats   the starter itself, as questions.py has it

A part has the answers to PROMPTS prompts. It depends on its number alone. Each prompt is read once and
answered twice: at temperature 0, where people leave the starter, and at one of TEMPERATURES. An answer
ends at its natural end, after LONGEST tokens, or where it begins to loop. One of less than SHORTEST
tokens is dropped.

The states of the target go into a file beside the answers, so that the training need not compute them
again.
"""

import functools
import json
import multiprocessing
import os
import time
from concurrent.futures import Future, ProcessPoolExecutor

import numpy as np
import torch

import quiet
import texts
from dflash2 import Config
from generate import LOOP, distinct, loop_start
from prompts import LONGEST as LONGEST_PROMPT
from prompts import Prompts
from questions import Questions
from target import Cache, Target

PROMPTS = 144  # a part, which two cores answer in 5 minutes
ANSWERS = 2  # to each prompt
SLOTS, REFILL = 96, 16  # texts at once, on a CPU; free slots before prompts are read into them
LONGEST, SHORTEST = 320, 8  # tokens of an answer
TEMPERATURES = {0.8: 0.6, 1.0: 0.4}  # shares of the second answers
COMPACT = 0.8  # free slots are dropped when no prompt waits and fewer than this share is in use
LOOK, LOOK_EVERY = 64, 16  # tokens that are looked at for a loop; tokens until that is done again
RUN = 256  # tokens whose shares are summed before one of them is drawn
NICE = 19


class Slots:
    """Texts that are answered at the same time. A text that ended gives its slot to the next prompt's.

    Text t answers prompt t // each, for which len(temperatures) is a multiple of len(prompts).
    """

    def __init__(self, target, prompts, temperatures, generator, longest=LONGEST):
        self.target, self.prompts, self.generator, self.longest = target, prompts, generator, longest
        self.temperatures, self.each = temperatures, len(temperatures) // len(prompts)  # (N,) of texts
        self.out = [[] for _ in temperatures]
        self.states = [None for _ in temperatures]  # of texts that ended, (tokens, (taps + 1) H)
        self.waiting = sorted(range(len(prompts)), key=lambda p: len(prompts[p]))  # like lengths are read together
        size = min(SLOTS if torch.get_default_device().type == "cpu" else ANSWERS * PROMPTS, len(temperatures))
        positions, width = LONGEST_PROMPT + longest, (len(target.taps) + 1) * target.config.hidden_size
        self.cache = Cache(target.config, size, positions)
        self.rows = torch.zeros((size, positions, width), dtype=torch.bfloat16)  # the states in each slot
        self.texts = torch.full((size,), -1)  # text of each slot, -1 if it is free
        self.lengths = torch.zeros(size, dtype=torch.long)  # tokens in the cache
        self.newest = torch.zeros(size, dtype=torch.long)

    @torch.no_grad()
    def run(self):
        """Returns (the answers, lists of ids, and the states of each text)."""
        while self.waiting or (self.texts >= 0).any():
            free = (self.texts < 0).nonzero().flatten().tolist()
            if self.waiting and len(free) >= min(REFILL, self.each * len(self.waiting)):
                self.fill(free)
            self.compact()
            quiet.wait()
            every = torch.arange(len(self.texts))
            logits, self.rows[every, self.lengths] = self.target.step(self.newest, self.lengths, self.cache)
            self.lengths = torch.where(self.texts < 0, self.lengths, self.lengths + 1)
            self.take(every, logits)
        return self.out, self.states

    def fill(self, slots):
        """Reads the next prompts into free slots."""
        count = min(len(slots) // self.each, len(self.waiting))
        prompts = [self.waiting.pop() for _ in range(count)]
        slots = torch.tensor(slots[: count * self.each]).view(count, self.each)
        lengths = torch.tensor([len(self.prompts[p]) for p in prompts])
        tokens = torch.zeros(count, int(lengths.max()), dtype=torch.long)
        for row, p in enumerate(prompts):
            tokens[row, : len(self.prompts[p])] = torch.tensor(self.prompts[p])
        logits, states = self.target.prefill(tokens, lengths, self.cache, slots)
        for n, each in enumerate(slots.T):
            self.rows[each, : tokens.shape[1]] = states
            self.texts[each], self.lengths[each] = torch.tensor(prompts) * self.each + n, lengths
            self.take(each, logits)

    def compact(self):
        """Drops free slots when no prompt waits."""
        keep = (self.texts >= 0).nonzero().flatten()
        if not self.waiting and len(keep) < COMPACT * len(self.texts) and len(keep):
            self.cache.keep(keep)
            self.rows = self.rows[keep].clone()
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
            loops = len(ids) >= LOOK and len(ids) % LOOK_EVERY == 0 and distinct(ids[-LOOK:]) < LOOP
            if token == self.target.config.eos_token_id or len(ids) == self.longest or loops:
                self.states[t] = self.rows[slot, : self.lengths[slot]].cpu().clone()
                self.texts[slot], self.lengths[slot] = -1, 0


def choose(logits, temperatures, generator):
    """Draws a token for each row of logits (B, V). At temperature 0 it is the likeliest one."""
    chosen = logits.argmax(-1)
    hot = (temperatures > 0).nonzero().flatten()
    if len(hot):
        shares = (logits[hot] / temperatures[hot, None]).softmax(-1).view(len(hot), -1, RUN)
        run, left = pick(shares.sum(-1), torch.rand(len(hot), generator=generator))
        token, _ = pick(shares[torch.arange(len(hot)), run], left)
        chosen[hot] = run * RUN + token
    return chosen


def pick(shares, at):
    """Returns (the column of each row of shares (B, n) where their sum reaches at (B,), what is left of at there)."""
    sums = shares.cumsum(-1)
    column = (sums < at[:, None]).sum(-1).clamp(max=shares.shape[1] - 1)
    rows = torch.arange(len(shares))
    return column, at - sums[rows, column] + shares[rows, column]


def usable(ids):
    """Returns (length of the beginning of ids to learn from, whether ids loop)."""
    if len(ids) < 24 or distinct(ids) >= LOOP:
        return len(ids), False
    return loop_start(ids), True


def draw(prompts, number):
    """Returns the prompts of a part, a list of (ids, kind), from prompts, and the generator that goes on."""
    rng = np.random.default_rng(number)
    return [prompts.draw(rng) for _ in range(PROMPTS)], rng


class Drawn:
    """The prompts of parts as write_prompts left them, for a machine without the texts."""

    def __init__(self, path):
        with np.load(path) as stored:
            self.tokens, self.starts, self.kinds = stored["tokens"], stored["starts"], stored["kinds"]

    def of(self, number):
        """Returns what draw returns. The generator goes another way."""
        if (number + 1) * PROMPTS > len(self.kinds):
            raise SystemExit(f"prompts were drawn for {len(self.kinds) // PROMPTS} parts; draw more with --stage prompts")
        drawn = range(number * PROMPTS, (number + 1) * PROMPTS)
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
    """Makes one part of prompts that draw returned. Returns (its arrays, the states of its texts).

    tokens      (all tokens,) uint16: each prompt with its answer, one after the other
    starts      (N + 1,) where each text begins in tokens
    prompts     (N,) tokens of each prompt
    kinds       (N,) names of prompts.SHARES, or questions.KIND
    temperatures (N,)
    counts      JSON: answers, those that loop, those that were dropped
    """
    temperatures = np.zeros((len(drawn), ANSWERS), np.float32)
    temperatures[:, 1:] = rng.choice(list(TEMPERATURES), (len(drawn), ANSWERS - 1), p=list(TEMPERATURES.values()))
    temperatures = temperatures.flatten()
    generator = torch.Generator(torch.get_default_device()).manual_seed(number)
    slots = Slots(target, [ids for ids, _ in drawn], torch.tensor(temperatures), generator)
    out, found = slots.run()
    rows, states, counts = [], [], {"answers": len(out), "looping": 0, "dropped": 0}
    for t, (more, temperature) in enumerate(zip(out, temperatures)):
        ids, kind = drawn[t // ANSWERS]
        length, loops = usable(more)
        counts["looping"] += loops
        if length < SHORTEST:
            counts["dropped"] += 1
            continue
        rows.append((ids + more[:length], len(ids), kind, temperature))
        states.append(found[t])
    return {
        "tokens": np.concatenate([np.array(r[0], np.uint16) for r in rows]),
        "starts": np.cumsum([0] + [len(r[0]) for r in rows]),
        "prompts": np.array([r[1] for r in rows]),
        "kinds": np.array([r[2] for r in rows]),
        "temperatures": np.array([r[3] for r in rows]),
        "counts": json.dumps(counts),
    }, states


def write_states(path, starts, states):
    """Writes states of texts into one array, bfloat16 as uint16, a row for each token. The row of a text's last token
    is 0 if the target did not read it."""
    out = np.lib.format.open_memmap(path, "w+", np.uint16, (int(starts[-1]), states[0].shape[1]))
    for first, last, rows in zip(starts, starts[1:], states):
        rows = rows[: last - first].view(torch.uint16).numpy()
        out[first : first + len(rows)] = rows
    out.flush()


def parts(folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("part") and name.endswith(".npz"))


def count(path):
    """Returns (answered tokens of a part, its counts)."""
    with np.load(path) as value:
        return int(value["starts"][-1] - value["prompts"].sum()), json.loads(str(value["counts"]))


def states_of(path):
    """Returns the path of the states of the part at path."""
    return path.removesuffix(".npz") + ".npy"


def prompts_of(folder):
    """Returns the prompts of the parts in a folder, lists of ids."""
    found = []
    for path in parts(folder):
        with np.load(path) as part:
            tokens, starts = part["tokens"], part["starts"]
            found += [tokens[at : at + n].tolist() for at, n in zip(starts, part["prompts"])]
    return found


def drawing(folder, tokenizer, target):
    """Returns the function that draws the prompts of a part of folder. Its name says which prompts."""
    name = os.path.basename(folder)
    held_out = name.startswith("held-out")
    if not name.endswith("chats"):
        return functools.partial(draw, Prompts(texts.documents()[held_out], tokenizer, held_out))
    learned = os.path.join(os.path.dirname(folder), "chats")
    known = prompts_of(learned) if held_out and os.path.isdir(learned) else []
    questions = Questions(tokenizer, held_out, known)
    return lambda number: questions.draw(number, PROMPTS, lambda *asked: Slots(target, *asked).run()[0])


def start(target, tokenizer, folder):
    """Prepares a process that writes parts of folder. target is the starter's folder."""
    global maker  # of this process
    os.nice(NICE - os.nice(0))
    torch.set_num_threads(1)
    target = Target(target, Config.target_layer_ids, LONGEST_PROMPT + LONGEST)
    maker = target, drawing(folder, tokenizer, target)


class Here:
    """Makes parts in this process, in the form of a pool of processes: a GPU has one."""

    def __init__(self, target, tokenizer, folder):
        global maker
        target = Target(target, Config.target_layer_ids, LONGEST_PROMPT + LONGEST)
        drawn = folder + "-prompts.npz"
        maker = target, Drawn(drawn).of if os.path.exists(drawn) else drawing(folder, tokenizer, target)

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
        arrays, states = part(target, *drawn(number), number)
        write_states(states_of(path), arrays["starts"], states)
        np.savez_compressed(made, **arrays)
        os.replace(made, path)
    return count(path)


def write(target, tokenizer, folder, tokens, processes, log=print):
    """Writes parts into folder until they hold tokens answered tokens. Parts already there count.

    Each process has one thread: two such processes write more than one of two threads. They run at
    the lowest priority. A GPU writes in this process, from prompts that write_prompts left beside the
    folder, if it did. target is the starter's folder.
    """
    os.makedirs(folder, exist_ok=True)
    have, totals, began, before = 0, {}, time.monotonic(), sum(count(p)[0] for p in parts(folder))
    if torch.get_default_device().type == "cpu":
        fresh = multiprocessing.get_context("spawn")  # torch's threads don't live through a fork
        pool = ProcessPoolExecutor(processes, fresh, start, (target, tokenizer, folder))
    else:
        pool, processes = Here(target, tokenizer, folder), 0
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
