"""Writes prompts that hide one code among lines of filler.

A prompt is one turn of a chat. Its lines are "Note 0012: calm river.". One line, outside the first
and the last EDGE, is "IMPORTANT: the secret code is AMBER-1234.". The question stands at the end.
The answer is the code alone.

In training a share of the prompts has other filler, other prefixes and other questions. So the
model finds the needle by its own words and copies what stands there. Codes and lines are drawn
again for each prompt, so it can't learn them by heart.
"""

import random
from dataclasses import dataclass

PREFIXES = "AMBER BASIL CEDAR DELTA EMBER FALCON GRANITE HARBOR INDIGO JASPER KESTREL LAGOON MAPLE NIMBUS ORCHID".split()
ADJECTIVES = "calm quiet cold warm green grey narrow wide plain soft slow old small long dry round pale still mild low flat clear dull thin".split()
NOUNS = "river meadow stone harvest window garden ladder basket kettle pillow blanket cellar orchard pebble bridge fence barn lantern teapot shelf valley carpet mitten ribbon".split()
QUESTION = "Question: what is the secret code that stands in the notes above? Answer with only the code and nothing else."
EDGE = 4  # lines at either end that are never the needle
SIZES = {"ctx70": (60, 80), "ctx280": (238, 322)}  # lines, from and to
SEED = 42
# Words of other filler and of other questions.
WORDS = (
    "a all an and any are as at be but by can could do each find for from give has have here his how i if in into it its just keep know "
    "line lines like list look made make may me more most must my need new no not note notes number of on one only or other our out "
    "over padding please read recall remember repeat reply report said same say see show sky so some such tell text than that the "
    "their them then there these they this time to today two under up use very was we weather well were what when where which who "
    "will with word words work would write year you your exact exactly return print output following given hidden found message "
    "ordinary nothing happened remarkable routine entry log record describes neutral filler information contains simple day secret code "
    "important passes people stays near every"
).split()


@dataclass
class Prompt:
    text: str  # the whole chat, to where the answer begins
    code: str


def code(rng, prefix=None):
    return f"{prefix or rng.choice(PREFIXES)}-{rng.randint(1000, 9999)}"


def line(rng, i):
    return f"Note {i:04d}: {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)}."


def needle(value):
    return f"IMPORTANT: the secret code is {value}."


def chat(content, system=""):
    head = f"<|im_start|>system\n{system}<|im_end|>\n" if system else ""
    return f"{head}<|im_start|>user\n{content}<|im_end|>\n<|im_start|>assistant\n"


def hide(rng, lines, value, edge=EDGE):
    """Puts the needle of a code between lines, at least edge from either end."""
    at = rng.randint(edge, len(lines) - edge)
    return "\n".join(lines[:at] + [needle(value)] + lines[at:])


def prompts(size, count, seed=SEED):
    """Returns the prompts of an evaluation."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        lines = [line(rng, i) for i in range(rng.randint(*SIZES[size]))]
        value = code(rng)
        made.append(Prompt(chat(hide(rng, lines, value) + "\n\n" + QUESTION), value))
    return made


def phrase(rng, low, high):
    """Returns low to high words, some of them made of random letters or digits."""

    def word():
        draw = rng.random()
        if draw < 0.8:
            return rng.choice(WORDS if rng.random() < 0.5 else NOUNS + ADJECTIVES)
        if draw < 0.9:
            return str(rng.randint(0, 9999))
        return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 7)))

    return " ".join(word() for _ in range(rng.randint(low, high)))


def drill(rng, low, high, varied):
    """Returns a prompt for training with low to high lines. A share of varied differs in its words."""
    if rng.random() >= varied:
        lines, system = [line(rng, i) for i in range(rng.randint(low, high))], ""
        value, question, gap = code(rng), QUESTION, "\n\n"
    else:
        # Their lines are longer, so they have fewer.
        count = max(2, rng.randint(low, high) // 2)
        few, first = rng.randint(1, 6), rng.choice((0, 0, 1, rng.randint(0, 900)))
        end = rng.choice((".", ".", "", "!", ", padding."))
        lines = [f"Note {first + i:04d}: {phrase(rng, few, few + 3)}{end}" for i in range(count)]
        letters = "".join(rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(rng.randint(3, 8)))
        value = code(rng, letters if rng.random() < 0.1 else None)
        question = QUESTION if rng.random() < 0.3 else phrase(rng, 12, 30) + rng.choice(("?", ".", ""))
        gap = rng.choice(("\n\n", "\n"))
        system = phrase(rng, 3, 12) if rng.random() < 0.2 else ""
    return Prompt(chat(hide(rng, lines, value, min(EDGE, len(lines) // 2)) + gap + question, system), value)


def corpus(count=4000):
    """Yields texts for the training of the tokenizer."""
    rng = random.Random(SEED)
    for i in range(count):
        lines = [line(rng, i % 1000) for _ in range(8)] + [needle(code(rng))] * 3 + [QUESTION]
        yield chat("\n".join(lines)) + code(rng) + phrase(rng, 10, 20)
