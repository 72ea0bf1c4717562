"""Turns prompts into rows of tokens."""

import torch


class Encoder:
    """Encodes prompts with their answers. An answer is the code and the end of the turn."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.pad = tokens.token_to_id("<|pad|>")

    def rows(self, prompts):
        """Returns (tokens (B, L), whether a token is of the answer (B, L)), padded on the right."""
        parts = [(self.tokens.encode(p.text).ids, self.tokens.encode(p.code + "<|im_end|>").ids) for p in prompts]
        length = max(len(text) + len(answer) for text, answer in parts)
        rows = torch.full((len(parts), length), self.pad)
        answers = torch.zeros(rows.shape, dtype=torch.bool)
        for row, answered, (text, answer) in zip(rows, answers, parts):
            row[: len(text) + len(answer)] = torch.tensor(text + answer)
            answered[len(text) : len(text) + len(answer)] = True
        return rows, answers
