"""Writes the texts of `tandem bench speculation`, app/bench/texts.json, from the held-out files of the pocket recipe.

    python build/bench/_code_prompts.py        # in the recipe's environment

code are the prompts that the recipe measures acceptance with: the first 256 tokens of rows of held-out Go files.
edit are whole functions of held-out Go files, each with one of its identifiers and another name for it.
"""

import json
import os
import random
import re
import subprocess
import sys

from tokenizers import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "pocket"))

import data  # noqa: E402

CODE, PROMPT = 96, 256  # prompts, tokens of one, as in build/pocket/acceptance.py
EDIT, LEAST, MOST = 60, 80, 240  # functions, tokens of one
USES = 4  # of the identifier, at least; one of them in the first line

IDENTIFIER = re.compile(r"(?<![\w.\"])[a-zA-Z]\w{2,}(?!\w)")
NEW = ["entry", "source", "target", "record", "handle", "stream", "holder", "answer"]
WORDS = set("""break case chan const continue default defer else fallthrough for func goto import interface map package range return
select struct switch type var any append bool byte cap clear close copy delete error false float64 int int32 int64 len make max min
new nil panic rune string true uint uint32 uint64 uint8 the and not for with that this from""".split())


def code(docs, tokenizer):
    """The prompts of build/pocket/acceptance.py, as texts."""
    rows = []
    for d in docs:
        ids = data.encode(tokenizer, [d.text + "<|endoftext|>"])[0]
        width = data.SHORT + 1
        rows += [(d.path, ids[i * width : i * width + PROMPT]) for i in range(len(ids) // width)]
    for path, ids in random.Random(0).sample(rows, CODE):
        yield {"path": path, "text": tokenizer.decode(ids.tolist(), skip_special_tokens=False)}


def edit(docs, tokenizer):
    """Functions without comments: one of each file, then a second one of each file."""
    rng = random.Random(0)
    seconds = []
    for d in rng.sample(docs, len(docs)):
        found = []
        for m in data.FUNCTION["Go"].finditer(d.text):
            text = m.group(2) + m.group(3)
            if not LEAST <= len(tokenizer.encode(text).ids) <= MOST or "//" in text:
                continue
            names = [n for n in IDENTIFIER.findall(text) if n not in WORDS]
            names = sorted({n for n in names if names.count(n) >= USES and n in IDENTIFIER.findall(m.group(2))}, key=lambda n: -names.count(n))
            if names:
                found.append((text, names[0]))
        if found:
            first = rng.choice(found)
            seconds += [(d.path, f) for f in found if f != first][:1]
            yield changed(rng, d.path, *first)
    for path, second in seconds:
        yield changed(rng, path, *second)


def changed(rng, path, text, name):
    """One entry of edit: a function, and a new name for the identifier."""
    return {"path": path, "text": text, "from": name, "to": rng.choice([n for n in NEW if n not in text])}


def main():
    goroot = subprocess.check_output(["go", "env", "GOROOT"], text=True).strip()
    version = subprocess.check_output(["go", "env", "GOVERSION"], text=True).strip()
    with open(os.path.join(goroot, "LICENSE")) as f:
        licence = f.read()
    tokenizer = Tokenizer.from_file(os.path.join(ROOT, "models", "pocket", "tokenizer.json"))
    _, held_out = data.split(data.documents(comments=True))
    docs = [d for d in held_out if d.language == "Go"]
    edits = []
    for e in edit(docs, tokenizer):
        edits.append(e)
        if len(edits) == EDIT:
            break
    out = {
        "source": f"Parts of the source of {version}'s standard library and commands, under the licence below.",
        "licence": licence,
        "code": list(code(docs, tokenizer)),
        "edit": edits,
    }
    with open(os.path.join(ROOT, "app", "bench", "texts.json"), "w") as f:
        json.dump(out, f, indent=1, ensure_ascii=False)
        f.write("\n")
    print(len(out["code"]), "prompts,", len(edits), "functions,", len(docs), "held-out files")


main()
