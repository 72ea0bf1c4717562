"""A stage after the training, which makes the target loop less: unlikelihood on its own loops (Welleck et al. 2019,
Neural Text Generation with Unlikelihood Training, sequence level).

Small models fall into repeating themselves under greedy decoding, because each repetition makes the next one likelier. Every
step here lets the model continue prompts greedily; in the texts that loop, tokens which complete a 4-gram seen before are made
less likely, by -log(1 - p): those that follow once the loop is plain, SURE tokens after it began. Repetition that is no loop,
of which code is full, is left alone: it is by copying that a small model knows most of what it knows. An ordinary
batch in the same step keeps the model what it was: its aims are the distributions the model had at the start, which are
quieter than the tokens themselves.

Not part of the recipe yet: on the model of 10 million tokens, 16 steps took 91 looping texts of 96 to 81 for 0.11 nats of held-out
loss on Go, and 30 harder ones (LR 3e-4, WEIGHT 0.5, the tokens as aims) to 53 for 0.28. More training costs nothing there.
"""

import copy

import numpy as np
import torch
import torch.nn.functional as F

from budget import Budget
from generate import LOOP, RUN, distinct, generate, loop_start

TEXTS, PROMPT, LENGTH = 32, (16, 128), 128  # texts a step; tokens, from and to; tokens
LR = 1.5e-4
WARMUP_STEPS = 5
WEIGHT = 0.3  # of unlikelihood beside the ordinary loss
SURE, ONSET = RUN, 48  # tokens of a loop that are left alone, tokens after them that count, at most
N = 4


def repeats(ids):
    """Which of ids stand near the beginning of a loop and end an n-gram seen before: a list of bool."""
    marked = [False] * len(ids)
    if distinct(ids, N) >= LOOP:
        return marked
    start, seen = loop_start(ids, N), set()
    for i in range(len(ids) - N + 1):
        gram = tuple(ids[i : i + N])
        marked[i + N - 1] = SURE <= i - start < SURE + ONSET and gram in seen
        seen.add(gram)
    return marked


def unlikelihood(logits, tokens):
    """-log(1 - p(token)) for logits (M, V) and tokens (M,); exact where p is near 1."""
    others = logits.scatter(1, tokens[:, None], -torch.inf)
    return logits.logsumexp(-1) - others.logsumexp(-1)


def loops(model, prompts):
    """What prompts (B, L) are continued by where that loops, prompts included: tokens (M, L + LENGTH), and which of the last LENGTH repeat."""
    out = generate(model, prompts, LENGTH)
    marked = torch.tensor([repeats(ids) for ids in out.tolist()])
    looping = marked.any(1)
    return torch.cat((torch.as_tensor(prompts), out), dim=1)[looping], marked[looping]


def loop_loss(model, tokens, marked):
    """Mean unlikelihood of the marked tokens; 0 if there are none."""
    if not len(tokens):
        return torch.zeros(())
    h = model.hidden(tokens[:, :-1])[:, -LENGTH:][marked]
    return unlikelihood(model.unembed(h).float(), tokens[:, -LENGTH:][marked]).mean()


def kept_loss(model, before, tokens):
    """Mean Kullback-Leibler divergence from what before says of tokens (B, L) to what model says."""
    with torch.no_grad():
        aims = before(tokens).float().log_softmax(-1)
    return F.kl_div(model(tokens).float().log_softmax(-1), aims, reduction="sum", log_target=True) / tokens.numel()


def unloop(model, rows, source, path, minutes, log=print):
    """Trains model, loaded as training left it, for minutes in all; its state lies at path. source is a generate.Prompts."""

    def factor(step, progress):
        return min(1, (step + 1) / WARMUP_STEPS) * (1 - progress)

    before = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    budget = Budget(path, model, [opt], minutes, factor, log)
    shares, losses = [], []
    for step, _ in budget:
        rng = np.random.default_rng(step)
        prompts = source.draw(rng, TEXTS, int(rng.integers(*PROMPT)))
        tokens, marked = loops(model, prompts)  # outside autocast, whose cached weights would carry no gradient afterwards
        batch = rows.batch(step)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            repeated = loop_loss(model, tokens, marked)
            loss = kept_loss(model, before, batch[: max(1, len(batch) // 2), :-1])
        (loss + WEIGHT * repeated).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        shares, losses = (shares + [len(tokens) / TEXTS])[-10:], (losses + [loss.item()])[-10:]
        if step % 5 == 0:
            log(f"step {step}, {budget.seconds / 60:.1f} of {minutes} min, loops {np.mean(shares):.2f}, unlikelihood {repeated.item():.3f}, divergence {np.mean(losses):.3f}")
