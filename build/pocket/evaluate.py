"""Measures the model card's figures: held-out loss beside an n-gram model's, loops, samples."""

import json
import os
import random

import numpy as np
import torch

import data
from generate import LOOP, distinct, generate
from train import held_out_loss

MEASURED = 65_536  # tokens for each held-out loss, at most
ORDER = 4  # of the n-gram model
COMPLETION, PROMPT, COMPLETIONS = 128, 64, 96  # tokens, tokens, texts
SAMPLES = [
    "func (s *Server) ",
    "// Copy copies from src to dst until either EOF is reached",
    "def read_config(path):\n",
    "<|fim_prefix|>func max(a, b int) int {\n\tif a > b {\n\t\t<|fim_suffix|>\n\t}\n\treturn b\n}\n<|fim_middle|>",
    "<|im_start|>user\nWrite a Go function named Contains.<|im_end|>\n<|im_start|>assistant\n",
]


class WittenBell:
    """Interpolated Witten-Bell: P(w|h) = (c(h w) + T(h) P(w|h')) / (c(h) + T(h)).

    T(h) counts the distinct tokens seen after h. h' is h without its oldest token.
    Below the unigrams lies the uniform distribution.
    """

    def __init__(self, tokens, vocab_size, order=ORDER):
        self.vocab_size = vocab_size
        self.tables = []
        tokens = tokens.astype(np.int64)
        for n in range(1, order + 1):
            key = np.zeros(len(tokens) - n + 1, np.int64)
            for i in range(n):
                key = key * vocab_size + tokens[i : len(tokens) - n + 1 + i]
            grams, counts = np.unique(key, return_counts=True)
            contexts, first = np.unique(grams // vocab_size, return_index=True)
            types = np.diff(np.append(first, len(grams)))
            self.tables.append((grams, counts, contexts, types, np.add.reduceat(counts, first)))

    @staticmethod
    def find(keys, wanted):
        """Returns the indices of wanted in the sorted keys, and whether each is there."""
        at = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
        return at, keys[at] == wanted

    def loss(self, rows):
        """Returns mean nats a token of rows (N, L + 1).

        A token is predicted from those before it in its row. The first one is not counted.
        """
        rows = rows.astype(np.int64)
        p = np.full((rows.shape[0], rows.shape[1] - 1), 1 / self.vocab_size)
        for n, (grams, counts, contexts, types, totals) in enumerate(self.tables, 1):
            length = rows.shape[1] - max(n, 2) + 1  # positions with n - 1 tokens before them
            context = np.zeros((rows.shape[0], length), np.int64)
            start = rows.shape[1] - length - (n - 1)
            for i in range(n - 1):
                context = context * self.vocab_size + rows[:, start + i : start + i + length]
            word = rows[:, -length:]
            at, known = self.find(contexts, context)
            gram, seen = self.find(grams, context * self.vocab_size + word)
            lower = p[:, -length:]
            mixed = (np.where(seen, counts[gram], 0) + types[at] * lower) / (totals[at] + types[at])
            p[:, -length:] = np.where(known, mixed, lower)
        return float(-np.log(p).mean())


def sample(model, tokenizer, prompt, temperature=0.0):
    ids = torch.tensor([tokenizer.encode(prompt).ids])
    out = generate(model, ids, COMPLETION, temperature)[0].tolist()
    ends = [i for i, token in enumerate(out) if token in (tokenizer.token_to_id("<|endoftext|>"), tokenizer.token_to_id("<|im_end|>"))]
    return tokenizer.decode(out[: ends[0]] if ends else out, skip_special_tokens=False)


def report(model, tokenizer, train_docs, held_out_docs, tokens_seen, folder, log=print):
    """Writes evaluation.json into folder and returns its content.

    The model was trained on tokens_seen tokens.
    """
    result = {"documents": {"train": len(train_docs), "held_out": len(held_out_docs)}, "loss": []}
    shuffled = random.Random(0).sample(train_docs, len(train_docs))
    train_tokens = np.concatenate(data.encode(tokenizer, [d.text + "<|endoftext|>" for d in shuffled]))
    result["train_tokens"], result["tokens_seen"] = len(train_tokens), tokens_seen
    whole = WittenBell(train_tokens, tokenizer.get_vocab_size())
    part = WittenBell(train_tokens[:tokens_seen], tokenizer.get_vocab_size())
    for language in ("Go", "Python"):
        docs = [d for d in held_out_docs if d.language == language]
        for length in (data.SHORT, data.LONG):
            rows = data.plain_rows(docs, tokenizer, length)
            rows = rows[:: -(-len(rows) * length // MEASURED)]
            entry = {
                "language": language,
                "length": length,
                "tokens": rows.shape[0] * length,
                "model": round(held_out_loss(model, rows, batch=4), 3),
                "witten_bell": round(whole.loss(rows), 3),
                "witten_bell_tokens_seen": round(part.loss(rows), 3),
            }
            result["loss"].append(entry)
            log(entry)
    rows = data.plain_rows([d for d in held_out_docs if d.language == "Go"], tokenizer, data.SHORT)
    picks = random.Random(0).sample(range(len(rows)), COMPLETIONS)
    for name, temperature in (("greedy", 0.0), ("sampled at 0.6", 0.6)):
        outs = generate(model, rows[picks, :PROMPT].astype(np.int64), COMPLETION, temperature).tolist()
        result[f"loops, {name}"] = f"{sum(distinct(o) < LOOP for o in outs)} of {COMPLETIONS}"
        log(name, result[f"loops, {name}"])
    result["loops, the text itself"] = f"{sum(distinct(rows[i, PROMPT:PROMPT + COMPLETION].tolist()) < LOOP for i in picks)} of {COMPLETIONS}"
    result["samples"] = [
        {"prompt": p, "greedy": sample(model, tokenizer, p), "sampled at 0.6": sample(model, tokenizer, p, 0.6)} for p in SAMPLES
    ]
    with open(os.path.join(folder, "evaluation.json"), "w") as f:
        json.dump(result, f, indent=1)
    log(json.dumps(result["samples"], indent=1))
    return result
