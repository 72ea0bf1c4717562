"""Checks that one seed gives one text, however the starter is drafted for.

python drafts.py BASE_URL DRAFTER   (the server's drafter has this name: model, or dflash for the starter's own)
"""

import sys

from checks import check, run
from starter import Server

server, trained = Server(sys.argv[1]), sys.argv[2]
TOKENS = 40
PROMPTS = [
    "Correct the spelling and repeat the whole text: The quik brown fox jumps over the lazy dog. The quik brown fox runs over the lazy dog.",
    "Explain why the sky is blue.",
]
TASKS = [
    "Write a Python function that reverses a string.",
    "How can I write Go code that reads a file line by line?",
    "Write a JavaScript function that removes duplicates from a list.",
]
LEAST = 1.8  # tokens of a greedy verify forward in blocks of 8 rows, over TASKS; 2.1 were measured
WAYS = [
    {"drafter": "ngram"},
    {"drafter": "ngram", "depth": 15},
    {"drafter": trained},
    {"drafter": trained, "depth": 1},
    {"drafter": trained, "depth": 4},
    {"drafter": trained, "depth": 7},
    {"drafter": trained, "depth": {"model": 15, "dflash": 6}[trained]},
    {"drafter": trained, "depth": 4, "rollback": "snapshot"},
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
        check(drafted["ngram"] and drafted[trained], f"drafters and their drafts: {drafted}")  # auto may choose none
        check(0 < accepted < sum(drafted.values()), f"{accepted} of {drafted} drafts were accepted")

    return same


def guesses():
    tokens, verifies = 0, 0
    for task in TASKS:
        way = {"drafter": trained, "depth": 7}
        timings = server.chat([{"role": "user", "content": task}], speculation=way, temperature=0, max_tokens=128)["timings"]
        verifies += timings["verifies"]
        tokens += timings["verifies"] * timings["tokens_per_verify"]
    check(tokens >= LEAST * verifies, f"{tokens:.0f} tokens in {verifies} verify forwards, want {LEAST} a forward")


tests = {f"temperature {t}: {len(WAYS)} ways to draft give the text of plain decoding": texts(t) for t in (0, 0.8)}
if trained == "dflash":
    tests[f"the starter's own drafter gives {LEAST} tokens a verify forward"] = guesses
run(tests)
