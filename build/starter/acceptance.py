"""Measures tokens per verify of a drafter on answers that it did not learn from. No engine takes part.

An answer is finished, so one forward with a block at every position gives all rounds of its greedy
decoding. Answers that loop are left out and counted.
"""

import numpy as np
import torch
import torch.nn.functional as F

from generate import LOOP, distinct

LOOPS_FROM = 24  # tokens: shorter answers do not loop
BLOCKS = 48  # at once: more need new pages from the kernel each time, which takes longer than the work


@torch.no_grad()
def accepted(drafter, target, text, rows):
    """Counts the accepted drafts of a block of rows rows at every position of an answer: (tokens - prompt - rows + 1,).
    text is one of drafter.Texts."""
    c = drafter.config
    ids, prompt, states = text
    tokens = torch.tensor(ids.astype(np.int64))[None]
    taps = torch.tensor(states[None, :, : -c.hidden_size]).view(torch.bfloat16).float()
    head = target.embedding[drafter.head_ids]
    found = []
    for anchors in torch.arange(prompt, len(ids) - rows + 1).split(BLOCKS):
        at = anchors[:, None] + torch.arange(1, rows)
        labels, before = tokens[0, at], tokens[0, at - 1]
        states = drafter.hidden(target, taps, tokens, anchors[None], torch.ones_like(anchors)[None], rows)[0, :, 1:].contiguous()
        logits = F.linear(states, head)  # (A, rows - 1, n)
        if c.selector_rank:
            # The token before is the right one wherever the drafts so far are: others do not count.
            top = logits.topk(c.selector_top_k, dim=-1).indices
            scores = logits.gather(-1, top) + drafter.candidate_selector.edges(states, before, drafter.head_ids[top])
            chosen = top.gather(-1, scores.argmax(-1, keepdim=True))[..., 0]
        else:
            chosen = logits.argmax(-1)
        found.append((drafter.head_ids[chosen] == labels).int().cumprod(-1).sum(-1))
    return torch.cat(found).cpu().numpy()


def rounds(accepts):
    """Yields the accepted count of each round of a decoding."""
    at = 0
    while at < len(accepts):
        yield int(accepts[at])
        at += int(accepts[at]) + 1


def report(drafter, target, texts, rows, log=print):
    """Logs tokens per verify by kind of text, of greedy answers. The drafter works in float32, as on a CPU of the engine."""
    target.embedding = target.embedding.float()
    found, looping = {}, {}
    for text, kind, temperature in zip(texts.texts, texts.kinds, texts.temperatures):
        if temperature:
            continue
        ids, prompt, _ = text
        answer = ids[prompt:].tolist()
        if len(answer) < rows:
            continue
        if len(answer) >= LOOPS_FROM and distinct(answer) < LOOP:
            looping[kind] = looping.get(kind, 0) + 1
            continue
        found.setdefault(kind, []).extend(rounds(accepted(drafter, target, text, rows)))
    every = [n for counts in found.values() for n in counts]
    for kind, counts in [*sorted(found.items()), ("all", every)]:
        counts = np.array(counts)
        per_position = [round(float((counts >= j).sum() / max(1, (counts >= j - 1).sum())), 2) for j in range(1, rows)]
        log(f"block {rows}, {kind}: {1 + counts.mean():.3f} tokens per verify, {len(counts)} rounds, accepted by position {per_position}, "
            f"{looping.get(kind, sum(looping.values()) if kind == 'all' else 0)} looping answers left out")
    return 1 + np.mean(every)
