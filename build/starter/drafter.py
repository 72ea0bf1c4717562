"""Trains the drafter on the starter's answers, many blocks of an answer in one forward.

The target is frozen, and reads each text again in each epoch.

The loss of a row has two parts, each twice: of the head's logits, and of the selector's scores.
- MIX parts of cross entropy to the target's own distribution at that position, given the text
  before it.
- 1 - MIX parts of cross entropy to the token that stands there.

Row j after the known tokens weighs exp(-j / GAMMA), because an early error also costs the rows after
it. A row whose token is not in the head has no loss.
"""

import functools
import random
import time

import numpy as np
import torch
import torch.nn.functional as F

import answers
from budget import Budget
from muon import Muon

SEQUENCES, ANCHORS = 16, 24  # texts of a step, blocks of a text: many texts teach more than many blocks
WIDTH = 256  # tokens; texts are padded to a multiple: each length costs torch.compile a program
POOL = 16  # batches whose texts are sorted by length, and whose readings are kept
REPLAYS = 3  # steps of each batch, with other blocks: reading a text costs more than its blocks
SHORT_ROWS, SHORT = 4, 0.7  # rows of a block in the first share of the time: early rows decide most
GAMMA = 4.0
MIX = 0.5
KNOWN = [0.8, 0.08, 0.08, 0.04]  # shares of blocks with 1, 2, 3 and 4 known tokens
MATRIX_LR, VECTOR_LR, TABLE_LR = 0.01, 0.002, 0.004  # Muon; AdamW, for norms and kernels; for the selector's tables
WEIGHT_DECAY = 0.02


def soft(aims, logp):
    return -(aims * logp).sum(-1)


def read(drafter, target, tokens):
    """Returns (states under the target's head, taps joined) of texts (B, L), and the rows of the head (n, H)."""
    with torch.no_grad():
        return *target.read(tokens, drafter.config.target_layer_ids), target.embedding[drafter.head_ids]


def loss(drafter, target, reading, tokens, anchors, known, ends, rows):
    """Returns (loss, tokens a verify forward would yield by argmax) of blocks of rows rows at anchors (B, A).

    The texts lie in tokens (B, L) and end before ends (B,). reading is that of tokens.
    """
    c = drafter.config
    L = tokens.shape[1]
    hidden, taps, head = reading
    states = drafter.hidden(target, taps, tokens, anchors, known, rows)[:, :, 1:].flatten(1, 2)  # (B, A (rows - 1), H)
    offsets = torch.arange(1, rows)
    positions = anchors[:, :, None] + offsets
    there = (positions < ends[:, None, None]) & (offsets >= known[:, :, None])
    positions = positions.clamp(max=L - 1).flatten(1)
    labels, before = tokens.gather(1, positions), tokens.gather(1, positions - 1)
    at = drafter.slots[labels]  # of the head, -1 for a token that it lacks
    weights = torch.exp(-(offsets - known[:, :, None]) / GAMMA).flatten(1) * there.flatten(1) * (at >= 0)
    at = at.clamp(min=0)[:, :, None]
    with torch.no_grad():
        own = hidden.gather(1, (positions - 1)[:, :, None].expand(-1, -1, hidden.shape[2]))
        aims = F.linear(own, head).float().softmax(-1)
    logits = F.linear(states, head).float()
    logp = logits.log_softmax(-1)
    total = MIX * soft(aims, logp) + (1 - MIX) * -logp.gather(-1, at)[..., 0]
    guesses = logits.argmax(-1, keepdim=True)
    if c.selector_rank:
        top = logits.detach().topk(c.selector_top_k, dim=-1).indices
        edges = drafter.candidate_selector.edges(states, before, drafter.head_ids[top])
        scores = logits.gather(-1, top) + edges
        logq = scores.log_softmax(-1)
        near = aims.gather(-1, top)
        near = near / near.sum(-1, keepdim=True).clamp(min=1e-6)
        total = total + MIX * soft(near, logq) + (1 - MIX) * -(logq * (top == at)).sum(-1)
        guesses = top.gather(-1, scores.argmax(-1, keepdim=True))
    right = drafter.head_ids[guesses[..., 0]] == labels
    hits = (right.view(there.shape) & there) | (offsets < known[:, :, None])
    alone = (known == 1).float()
    yields = 1 + (hits.float().cumprod(-1).sum(-1) * alone).sum() / alone.sum()
    return (total * weights).sum() / weights.sum(), yields


def optimizers(drafter):
    """Returns Muon for matrices, AdamW for the rest."""
    named = list(drafter.named_parameters())
    tables = [p for name, p in named if "codebook" in name]
    matrices = [p for name, p in named if p.ndim == 2 and "codebook" not in name]
    vectors = [p for name, p in named if p.ndim != 2]
    groups = [{"params": vectors, "lr": VECTOR_LR}] + ([{"params": tables, "lr": TABLE_LR}] if tables else [])
    return [
        Muon(matrices, lr=MATRIX_LR, weight_decay=WEIGHT_DECAY),
        torch.optim.AdamW(groups, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    ]


class Texts:
    """Batches from the parts that answers.write wrote. A batch depends on its number and the parts alone."""

    def __init__(self, folder, parts=None):
        self.texts = []  # (tokens, length of the prompt)
        self.kinds, self.temperatures = [], []
        for path in answers.parts(folder)[:parts]:
            with np.load(path) as part:
                tokens, starts = part["tokens"], part["starts"]
                for i, prompt in enumerate(part["prompts"].tolist()):
                    self.texts.append((tokens[starts[i] : starts[i + 1]], prompt))
                self.kinds += part["kinds"].tolist()
                self.temperatures += part["temperatures"].tolist()

    def answered(self):
        return sum(len(tokens) - prompt for tokens, prompt in self.texts)

    def counts(self, size):
        """Returns how often each of size tokens stands in an answer."""
        every = np.concatenate([tokens[prompt:] for tokens, prompt in self.texts])
        return np.bincount(every, minlength=size)

    def steps(self):
        """Returns the batches of an epoch."""
        return len(self.texts) // SEQUENCES * REPLAYS

    def batch(self, step):
        """Returns (number of the batch, tokens (B, L), anchors (B, A), known (B, A), ends (B,)).

        Every text comes in REPLAYS steps of an epoch, which lie in the same pool.
        """
        epoch, i = divmod(step, self.steps())
        order = random.Random(epoch).sample(range(len(self.texts)), len(self.texts))
        pool, i = divmod(i, POOL * REPLAYS)
        first = pool * POOL * SEQUENCES
        near = sorted(order[first : first + POOL * SEQUENCES], key=lambda n: len(self.texts[n][0]))
        batches = len(near) // SEQUENCES
        replay, i = divmod(i, batches)
        place = random.Random(f"{epoch} {pool} {replay}").sample(range(batches), batches)[i]
        texts = [self.texts[n] for n in near[place * SEQUENCES : (place + 1) * SEQUENCES]]
        ends = np.array([len(tokens) for tokens, _ in texts])
        prompts = np.array([prompt for _, prompt in texts])
        tokens = np.zeros((SEQUENCES, -(-int(ends.max()) // WIDTH) * WIDTH), np.int64)
        for row, (ids, _) in zip(tokens, texts):
            row[: len(ids)] = ids
        rng = np.random.default_rng(step)
        where = rng.random((SEQUENCES, ANCHORS))
        anchors = prompts[:, None] + (where * (ends - 1 - prompts)[:, None]).astype(np.int64)  # one token after each at least
        known = rng.choice(len(KNOWN), (SEQUENCES, ANCHORS), p=KNOWN) + 1
        return epoch * len(self.texts) + first + place, *(torch.tensor(a) for a in (tokens, anchors, known, ends))


class Readings:
    """What the target made of the texts of a pool, each batch read once."""

    def __init__(self, drafter, target):
        self.read = functools.partial(read, drafter, target)
        self.kept = {}  # by the number of the batch

    def of(self, number, tokens):
        if number not in self.kept:
            if len(self.kept) >= POOL:
                self.kept.clear()
            few = [self.read(part) for part in tokens.split(4)]  # more at once would not be read faster
            self.kept[number] = *(torch.cat(parts) for parts in list(zip(*few))[:2]), few[0][2]
        return self.kept[number]


def train(drafter, target, texts, path, minutes, log=print):
    """Trains drafter for minutes in all. Its state lies at path.

    On a CPU the minutes are those of busy cores, so that a time in which others have them does not
    count. On a GPU a step is short, and compiling takes longer than it saves.
    """
    opts, device = optimizers(drafter), torch.get_default_device().type
    step_loss, clock = functools.partial(loss, drafter, target), time.monotonic
    if device == "cpu":
        step_loss = torch.compile(step_loss, dynamic=False)
        clock = lambda: time.process_time() / torch.get_num_threads()
    budget = Budget(path, drafter, opts, minutes, log, clock)
    readings = Readings(drafter, target)
    losses, yields = [], []
    for step in budget:
        number, tokens, anchors, known, ends = texts.batch(step)
        rows = SHORT_ROWS if budget.seconds < SHORT * 60 * minutes else drafter.config.block_size
        with torch.autocast(device, dtype=torch.bfloat16):
            reading = readings.of(number, tokens)
            value, tokens_per_verify = step_loss(reading, tokens, anchors, known.clamp(max=rows - 1), ends, rows)
        value.backward()
        torch.nn.utils.clip_grad_norm_(drafter.parameters(), 1.0)
        for opt in opts:
            opt.step()
            opt.zero_grad()
        losses, yields = (losses + [value.item()])[-50:], (yields + [tokens_per_verify.item()])[-50:]
        if step % 20 == 0:
            log(
                f"step {step}, epoch {step / texts.steps():.2f}, {budget.seconds / 60:.1f} of {minutes} min, "
                f"loss {np.mean(losses):.3f}, tokens per verify {np.mean(yields):.2f}"
            )
