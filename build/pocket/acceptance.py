"""Measures tokens per verify forward of a drafter on text the target writes. No engine takes part.

The target continues held-out prompts, greedily or at a temperature with the coupled rule's noise.
The token at position i is argmax(log p / temperature + g). g is Gumbel noise of i and the text
alone. The drafter proposes argmax(log q / temperature + g) with the same g. A draft is accepted
while it equals the token that stands there. So one forward over the finished text, with a block at
every position, gives all rounds of a decoding.
"""

import numpy as np
import torch

from dflash import read
from generate import LOOP, distinct, generate

PROMPT, CONTINUATION = 256, 64  # tokens: an editor's context, and what it asks for
SEQUENCES = 4  # a forward
TEXTS = 96
SEED = 7


def gumbel(i, shape):
    """Gumbel noise of shape (B, V) for the i-th token of a batch of texts."""
    generator = torch.Generator().manual_seed(SEED * 1_000_003 + i)
    return -torch.empty(shape).exponential_(generator=generator).log_()


def write(target, prompts, temperature, stops):
    """Returns (tokens (B, PROMPT + CONTINUATION), ends (B,), whether each text loops (B,))."""
    shape = (len(prompts), target.config.vocab_size)
    out = generate(target, prompts, CONTINUATION, temperature, noise=lambda i: gumbel(i, shape))
    ends = [next((i + 1 for i, token in enumerate(ids) if token in stops), CONTINUATION) for ids in out.tolist()]
    loops = [end >= 8 and distinct(ids[:end]) < LOOP for ids, end in zip(out.tolist(), ends)]
    return torch.cat((torch.as_tensor(prompts), out), dim=1), PROMPT + torch.tensor(ends), torch.tensor(loops)


@torch.no_grad()
def accepted(drafter, target, tokens, temperature, texts, rows):
    """Counts the accepted drafts of a block at every position from PROMPT on.

    The counts are (B, CONTINUATION - rows + 1).
    A block has rows rows. texts (B,) are the indices of the texts in the batch that was written.
    The noise depends on them.
    """
    _, taps = read(target, tokens, drafter.config.target_layer_ids)
    count = CONTINUATION - rows + 1
    anchors = torch.arange(PROMPT, PROMPT + count).expand(len(tokens), -1)
    logits = drafter(target, taps, tokens, anchors, rows).float()  # (B, count, rows - 1, V)
    at = (torch.arange(count)[:, None] + torch.arange(1, rows)).flatten()  # indices into the noise
    if temperature:
        shape = (TEXTS, logits.shape[-1])
        noise = torch.stack([gumbel(i, shape)[texts] for i in range(CONTINUATION)], dim=1)  # (B, CONTINUATION, V)
        logits = logits / temperature + noise[:, at].view_as(logits)
    labels = tokens[:, PROMPT + at].view(len(tokens), count, rows - 1)
    return (logits.argmax(-1) == labels).int().cumprod(-1).sum(-1)


def rounds(accepts, length, rows):
    """Yields the accepted count of each round of a decoding of length tokens.

    A block that would pass the end is not counted.
    """
    at = 0
    while at + rows <= length:
        yield int(accepts[at])
        at += int(accepts[at]) + 1


def measure(drafter, target, written, temperature, rows):
    """Returns three figures for blocks of rows rows.

    - "tokens_per_verify": None if there are no rounds.
    - "rounds": their number.
    - "per_position": for each row j, the share of rounds that accept it among those that accept row
      j - 1.
    """
    tokens, ends, loops = written
    good = (~loops).nonzero().flatten()
    found = []
    for part in good.split(SEQUENCES):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            accepts = accepted(drafter, target, tokens[part], temperature, part, rows)
        for row, end in zip(accepts, ends[part].tolist()):
            found += rounds(row, end - PROMPT, rows)
    found = np.array(found, int)
    per_position = [round(float((found >= j).sum() / max(1, (found >= j - 1).sum())), 3) for j in range(1, rows)]
    return {"tokens_per_verify": round(float(1 + found.mean()), 3) if len(found) else None, "rounds": len(found), "per_position": per_position}


def report(drafters, target, prompts, stops, log=print):
    """Measures drafters, {name: Drafter}, on prompts (TEXTS, PROMPT).

    Logs each result and returns the list.
    """
    results = []
    for temperature in (0.0, 0.8):
        written = write(target, prompts, temperature, stops)
        looping = f"{int(written[2].sum())} of {len(prompts)}"
        for name, drafter in drafters.items():
            for rows in [n for n in (4, 8, 16) if n <= drafter.config.block_size]:
                result = {"drafter": name, "temperature": temperature, "block": rows, "looping, excluded": looping}
                result |= measure(drafter, target, written, temperature, rows)
                results.append(result)
                log(result)
    return results
