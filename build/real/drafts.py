"""Checks that one seed gives one text, however the starter is drafted for.

python drafts.py BASE_URL DRAFTER   (the server's drafter has this name: model, or dflash for the starter's own)
"""

import sys

from checks import check, run
from starter import Server

server, trained = Server(sys.argv[1]), sys.argv[2]
TOKENS = 40
LEAST = {"model": 1.0, "dflash": 1.5}  # tokens of a verify forward in blocks of 8 rows, over all prompts
PROMPTS = [
    "Correct the spelling and repeat the whole text: The quik brown fox jumps over the lazy dog. The quik brown fox runs over the lazy dog.",
    "Explain why the sky is blue.",
]
WAYS = [
    {"drafter": "ngram"},
    {"drafter": "ngram", "depth": 15},
    {"drafter": trained},
    {"drafter": trained, "depth": 1},
    {"drafter": trained, "depth": 4},
    {"drafter": trained, "depth": 7},
    {"drafter": trained, "depth": 15},
    {"drafter": trained, "depth": 4, "rollback": "snapshot"},
    {"drafter": "lookup+" + trained},
    {"drafter": "auto"},
]


def texts(temperature):
    def same():
        drafted, accepted = dict.fromkeys((way["drafter"] for way in WAYS), 0), 0
        for seed, prompt in enumerate(PROMPTS):
            fields = {"temperature": temperature, "seed": seed, "max_tokens": TOKENS, "ignore_eos": True}
            ask = [{"role": "user", "content": prompt}]
            plain = server.chat(ask, speculation={"drafter": "none"}, **fields)
            check(len(plain["token_ids"]) == TOKENS, f"{len(plain['token_ids'])} tokens")
            for way in WAYS:
                said = server.chat(ask, speculation=way, **fields)
                check(said["token_ids"] == plain["token_ids"], f"{prompt!r} by {way}: {said['message']['content']!r}, without drafts {plain['message']['content']!r}")
                drafted[way["drafter"]] += said["timings"]["draft_n"]
                accepted += said["timings"]["draft_n_accepted"]
        check(drafted["ngram"] and drafted["model"], f"drafters and their drafts: {drafted}")  # auto may choose none
        check(0 < accepted < sum(drafted.values()), f"{accepted} of {drafted} drafts were accepted")

    return same


run({f"temperature {t}: {len(WAYS)} ways to draft give the text of plain decoding": texts(t) for t in (0, 0.8)})
