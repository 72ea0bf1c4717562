"""Compares the starter's prompts, answers and tokens with those of mlx_lm and tokenizers.

python chats.py BASE_URL
"""

import sys

from checks import check, run
from starter import Server, recorded, together

server = Server(sys.argv[1])


def chats():
    rows = recorded("chats.json")
    check(len(rows) == 24 and all(len(r["answer"]) >= 64 for r in rows), f"{len(rows)} chats are recorded")

    def ask(row):
        return server.chat(row["messages"], temperature=0, max_tokens=len(row["answer"]))

    for row, said in zip(rows, together(ask, rows), strict=True):
        check(said["prompt_token_ids"] == row["prompt"], f"{row['messages']}: the prompt is {said['prompt_token_ids']}, mlx_lm has {row['prompt']}")
        check(said["token_ids"] == row["answer"], f"{row['messages']}: the answer is {said['token_ids']}, mlx_lm has {row['answer']}")


def strings():
    rows = recorded("strings.json")
    check(len(rows) == 2000, f"{len(rows)} strings are recorded")
    for row in rows:
        said = server.post("/tokenize", content=row["text"], add_special=False, parse_special=True)["tokens"]
        check(said == row["ids"], f"{row['text']!r} has tokens {said}, tokenizers has {row['ids']}")


run({"24 greedy chats equal mlx_lm's, by eight clients at once": chats, "2,000 strings have the tokens of tokenizers": strings})
