"""Trains the drafter on the starter's answers, many blocks of an answer in one forward.

The target is frozen. Its states lie beside the answers, so that a step costs the drafter's own work alone.

The loss of a row has two parts, each twice: of the head's logits, and of the selector's scores.
- MIX parts of cross entropy to the target's own distribution at that position, given the text
  before it.
- 1 - MIX parts of cross entropy to the token that stands there.

Row j after the known tokens weighs exp(-j / GAMMA), because an early error also costs the rows after
it. A row whose token is not in the head has no loss.
"""

import ctypes
import functools
import random
import time

import numpy as np
import torch
import torch.nn.functional as F

import answers
import quiet
from budget import Budget
from muon import Muon

SEQUENCES, ANCHORS = 16, 24  # texts of a step, blocks of a text: many texts teach more than many blocks
WIDTH = 224  # tokens; texts are padded to a multiple: each length costs torch.compile a program
POOL = 16  # batches whose texts are sorted by length
SHORT_ROWS, SHORT = 4, 0.75  # rows of a block in the first share of the time: early rows decide most
GAMMA = 4.0
MIX = 0.5
KNOWN = [0.8, 0.08, 0.08, 0.04]  # shares of blocks with 1, 2, 3 and 4 known tokens
MATRIX_LR, VECTOR_LR, TABLE_LR = 0.01, 0.002, 0.004  # Muon; AdamW, for norms and kernels; for the selector's tables
WEIGHT_DECAY = 0.02
NEURONS = 192  # of a block that Muon takes from a matrix of an MLP


def soft(aims, logp):
    return -(aims * logp).sum(-1)


def loss(drafter, target, head, states, tokens, anchors, known, ends, rows):
    """Returns (loss, tokens a verify forward would yield by argmax) of blocks of rows rows at anchors (B, A).

    The texts lie in tokens (B, L) and end before ends (B,). states (B, L, (taps + 1) H) are the target's, and
    head (n, H) has its rows of drafter.head_ids.
    """
    c = drafter.config
    L = tokens.shape[1]
    taps, hidden = states[..., : -c.hidden_size], states[..., -c.hidden_size :]
    drafts = drafter.hidden(target, taps, tokens, anchors, known, rows)[:, :, 1:].flatten(1, 2)  # (B, A (rows - 1), H)
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
    logits = F.linear(drafts, head).float()
    logp = logits.log_softmax(-1)
    total = MIX * soft(aims, logp) + (1 - MIX) * -logp.gather(-1, at)[..., 0]
    guesses = logits.argmax(-1, keepdim=True)
    if c.selector_rank:
        top = logits.detach().topk(c.selector_top_k, dim=-1).indices
        edges = drafter.candidate_selector.edges(drafts, before, drafter.head_ids[top])
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
    vectors = [p for name, p in named if p.ndim != 2]
    matrices = {}  # by the size of their blocks
    for name, p in named:
        if p.ndim == 2 and "codebook" not in name:
            matrices.setdefault(block(name, drafter.config), []).append(p)
    groups = [{"params": vectors, "lr": VECTOR_LR}] + ([{"params": tables, "lr": TABLE_LR}] if tables else [])
    split = [{"params": params, "rows": rows, "columns": columns} for (rows, columns), params in matrices.items()]
    return [
        Muon(split, lr=MATRIX_LR, weight_decay=WEIGHT_DECAY),
        torch.optim.AdamW(groups, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    ]


def block(name, c):
    """Returns (rows, columns) of the blocks in which Muon takes a matrix, None for all of them."""
    return {
        "q_proj": (c.head_dim, None),
        "k_proj": (c.head_dim, None),
        "v_proj": (c.head_dim, None),
        "o_proj": (None, c.head_dim),
        "gate_proj": (NEURONS, None),
        "up_proj": (NEURONS, None),
        "down_proj": (None, NEURONS),
    }.get(name.split(".")[-2], (None, None))


class Texts:
    """Batches from the parts that answers.write wrote. A batch depends on its number and the parts alone."""

    def __init__(self, folders, share=1):
        """Reads one part of so many in each folder, the first ones."""
        self.texts = []  # (tokens, length of the prompt, states)
        self.kinds, self.temperatures = [], []
        every = [answers.parts(folder) for folder in folders]
        for path in [path for paths in every for path in paths[: len(paths) // share]]:
            states = np.load(answers.states_of(path), mmap_mode="r")
            with np.load(path) as part:
                tokens, starts = part["tokens"], part["starts"]
                for i, prompt in enumerate(part["prompts"].tolist()):
                    here = slice(starts[i], starts[i + 1])
                    self.texts.append((tokens[here], prompt, states[here]))
                self.kinds += part["kinds"].tolist()
                self.temperatures += part["temperatures"].tolist()

    def answered(self):
        return sum(len(tokens) - prompt for tokens, prompt, _ in self.texts)

    def counts(self, size):
        """Returns how often each of size tokens stands in an answer."""
        every = np.concatenate([tokens[prompt:] for tokens, prompt, _ in self.texts])
        return np.bincount(every, minlength=size)

    def steps(self):
        """Returns the batches of an epoch."""
        return len(self.texts) // SEQUENCES

    def batch(self, step):
        """Returns (states (B, L, (taps + 1) H), tokens (B, L), anchors (B, A), known (B, A), ends (B,)). Every text
        comes once an epoch."""
        epoch, i = divmod(step, self.steps())
        order = random.Random(epoch).sample(range(len(self.texts)), len(self.texts))
        pool, i = divmod(i, POOL)
        first = pool * POOL * SEQUENCES
        near = sorted(order[first : first + POOL * SEQUENCES], key=lambda n: len(self.texts[n][0]))
        batches = len(near) // SEQUENCES
        place = random.Random(f"{epoch} {pool}").sample(range(batches), batches)[i]
        texts = [self.texts[n] for n in near[place * SEQUENCES : (place + 1) * SEQUENCES]]
        ends = np.array([len(tokens) for tokens, *_ in texts])
        prompts = np.array([prompt for _, prompt, _ in texts])
        length = -(-int(ends.max()) // WIDTH) * WIDTH
        tokens = np.zeros((SEQUENCES, length), np.int64)
        states = np.zeros((SEQUENCES, length, texts[0][2].shape[1]), np.uint16)
        for n, (ids, _, rows) in enumerate(texts):
            tokens[n, : len(ids)], states[n, : len(ids)] = ids, rows
        rng = np.random.default_rng(step)
        where = rng.random((SEQUENCES, ANCHORS))
        anchors = prompts[:, None] + (where * (ends - 1 - prompts)[:, None]).astype(np.int64)  # one token after each at least
        known = rng.choice(len(KNOWN), (SEQUENCES, ANCHORS), p=KNOWN) + 1
        read = torch.from_numpy(states).view(torch.bfloat16).to(torch.get_default_device())
        return read, *(torch.tensor(a) for a in (tokens, anchors, known, ends))


def keep_memory():
    """Makes the C library keep the memory of freed tensors, which return in the same sizes each step. Else the kernel
    clears new pages, which takes a tenth of the time."""
    trim, top_pad, mmap, arenas = -1, -2, -3, -8  # malloc.h
    for name, value in ((arenas, 1), (mmap, 2**31 - 1), (trim, 2**31 - 1), (top_pad, 2**28)):
        ctypes.CDLL(None).mallopt(name, value)


def train(drafter, target, texts, path, minutes, log=print):
    """Trains drafter for minutes in all. Its state lies at path.

    On a CPU the minutes are those of busy cores, so that a time in which others have them does not
    count. On a GPU a step is short, and compiling takes longer than it saves.
    """
    opts, device = optimizers(drafter), torch.get_default_device().type
    head = target.embedding[drafter.head_ids]
    step_loss, clock = functools.partial(loss, drafter, target, head), time.monotonic
    if device == "cpu":
        keep_memory()
        step_loss = torch.compile(step_loss, dynamic=False)
        clock = lambda: time.process_time() / torch.get_num_threads()
    budget = Budget(path, drafter, opts, minutes, log, clock)
    losses, yields = [], []
    for step in budget:
        quiet.wait()
        states, tokens, anchors, known, ends = texts.batch(step)
        rows = SHORT_ROWS if budget.seconds < SHORT * 60 * minutes else drafter.config.block_size
        with torch.autocast(device, dtype=torch.bfloat16):
            value, tokens_per_verify = step_loss(states, tokens, anchors, known.clamp(max=rows - 1), ends, rows)
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
