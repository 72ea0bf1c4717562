"""Lets the starter write questions itself, as people ask them, so that the drafter learns from its answers.

A chat model that reads its template up to a question goes on with one (Magpie, Xu et al. 2024). Most
questions are not about the texts of a developer's machine.
"""

import json
import os

import numpy as np
import torch

from prompts import DEFAULT, chat

KIND = "chat"
TEMPERATURE = 0.9
LONGEST, SHORTEST = 120, 5  # tokens of a question; others are dropped
ROUND = 320  # questions written at once
CHATS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "app", "bench", "chats.json")


class Questions:
    """Questions that no bench asks. Those of a part depend on its number, on held_out and on known alone.

    known are texts that a drafter has learned from, lists of ids: their questions are not asked again.
    """

    def __init__(self, tokenizer, held_out, known=()):
        self.tokenizer, self.held_out = tokenizer, held_out
        self.before, self.after = (tokenizer.encode(text).ids for text in chat(DEFAULT, "\0").split("\0"))
        with open(CHATS) as f:
            chats = json.load(f)
        self.asked = {self.plain(text) for text in chats["code"] + chats["prose"]}
        for ids in known:
            self.asked.add(self.plain(tokenizer.decode(ids[len(self.before) : -len(self.after)])))

    def plain(self, text):
        return "".join(c for c in text.lower() if c.isalnum())

    def draw(self, number, count, write):
        """Returns count questions as [(ids, kind)], and the generator that goes on.

        write(prompts, temperatures, generator, longest) returns what the starter goes on with, lists of ids.
        """
        rng = np.random.default_rng([number, int(self.held_out)])
        generator = torch.Generator(torch.get_default_device()).manual_seed(int(rng.integers(2**62)))
        found = {}  # by their plain texts
        while len(found) < count:
            for ids in write([self.before] * ROUND, torch.full((ROUND,), TEMPERATURE), generator, LONGEST):
                ended = ids[-1] == self.after[0]
                text = self.plain(self.tokenizer.decode(ids))
                if ended and len(ids) > SHORTEST and text not in self.asked:
                    found.setdefault(text, self.before + ids[:-1] + self.after)
        return [(ids, KIND) for ids in list(found.values())[:count]], rng
