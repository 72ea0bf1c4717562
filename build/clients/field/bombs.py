"""Templates, grammars and tokenizers that take all memory or time, unless something ends them."""

import threading
import time

import tiny
from bodies import form, ok
from checks import Wrong, expect, want
from models import add
from server import Answer

MB = 1 << 20
RENDER, COMPILE = 10, 10  # seconds by the clock, with the wait for other heavy ones
SLACK = 2  # seconds past a limit


def fresh(stage):
    """A server of its own for each check, with what the first request takes."""
    s = stage.serve("--model", "pocket")
    ok(s.complete("x", max_tokens=1))
    return s, stage


def ends(s):
    """Fails unless the server computes nothing, and ends soon after SIGTERM."""
    time.sleep(0.5)
    busy = s.busy(1)
    took = s.stop(12)
    want(busy < 0.3, f"{busy:.1f} cores are busy after the answer")
    want(took < 6, f"the process ends {took:.1f} s after SIGTERM")


def mild(s, ask, most=300 * MB, seconds=RENDER + SLACK):
    """Fails unless an answer other than 200 comes in time and without much memory. Returns it."""
    answer, took, peak = s.watch(ask, seconds + 5, 1500 * MB)
    came = f"{answer.status} after {took:.1f} s, {peak // MB} MB more: {answer.text}"
    want(answer.status not in (0, 200) and took < seconds and peak < most, came)
    return came


def beside(ask, **how):
    """Starts a request whose answer does not matter."""

    def work():
        try:
            ask(**how)
        except OSError:
            pass

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def added_and_asked(s, path):
    """Returns the answer of a model whose folder is added. If it is not added, the reason is the answer."""
    status, said = s.tandem("models", "add", path)
    return Answer(422, {}, said) if status else s.complete("x", model=said.splitlines()[0])


# Templates and grammars

BOMBS = [
    ("s1", "{{ range(10)|slice(1000000000)|list|length }}"),
    ("s1", "{{ range(10)|batch(1000000000, 'x')|list|length }}"),
    ("s1", "{{ (range(100000)|list|join(range(1000)|join))|length }}"),
    ("s1", "{{ 'x'|indent(1000000000)|length }}{{ 'x'|center(1000000000)|length }}{{ ('x' * 1000000000)|length }}"),
    ("s2", "{{ ([[1]]*1000000)|sum(start=[]) }}"),
    ("s2", "{{ ([[1]]*1000000)|sum(start=[])|length }}{{ (range(3000)|list * 1000)|unique|list|length }}"),
]
for i, (key, template) in enumerate(BOMBS):

    @expect(key, "a template ends at its limits of memory and time, and the process at SIGTERM", template, fresh)
    def _(s, stage, i=i, template=template):
        try:
            name = add(s, tiny.folder(stage.folder, f"bomb-{i}", template=template))
        except Wrong as e:
            want("template" in e.args[0], e.args[0])
            came = e.args[0]
        else:
            came = mild(s, lambda: s.chat(model=name, timeout=40))
        ends(s)
        return came


@expect("s2", "a template ends with its client, and the process at SIGTERM", "the same, and the client leaves after 1 s", fresh)
def _(s, stage):
    name = add(s, tiny.folder(stage.folder, "bomb-left", template=BOMBS[4][1]))
    answer, _, peak = s.watch(lambda: s.chat(model=name, timeout=1), RENDER, 1500 * MB)
    time.sleep(2)
    ends(s)
    return f"{answer.text}, {peak // MB} MB more"


@expect("s1", "four bombs at once take little, and other requests are answered", "four templates at once, and a short request beside them", fresh)
def _(s, stage):
    names = [add(s, tiny.folder(stage.folder, f"four-{i}", template=t)) for i, (_, t) in enumerate(BOMBS[:1] + BOMBS[4:5] + BOMBS[:1] + BOMBS[4:5])]
    waits = []

    def all():
        threads = [beside(s.chat, model=n, timeout=60) for n in names]
        while any(t.is_alive() for t in threads):
            start = time.monotonic()
            ok(s.complete("x", max_tokens=1))
            waits.append(time.monotonic() - start)
            time.sleep(0.3)
        return s.get("/health")

    answer, took, peak = s.watch(all, RENDER + SLACK, 1500 * MB)
    ok(answer)
    want(peak < 300 * MB and max(waits, default=0) < 3, f"{took:.1f} s, {peak // MB} MB more, a short request waits {max(waits, default=0):.1f} s")
    ends(s)
    return f"{took:.1f} s, {peak // MB} MB more, a short request waits {max(waits, default=0):.1f} s"


@expect("s3", "a post-processor is bounded while it is read", "TemplateProcessing with 100,000 pieces of 100,000 ids", fresh)
def _(s, stage):
    ids = [tiny.BOS] * 100_000
    bomb = {
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<|bos|>", "type_id": 0}}] * 100_000,
            "pair": [],
            "special_tokens": {"<|bos|>": {"id": "<|bos|>", "ids": ids, "tokens": ["<|bos|>"] * len(ids)}},
        }
    }
    path = tiny.folder(stage.folder, "pieces", files={"tokenizer.json": tiny.tokenizer() | bomb})

    came = mild(s, lambda: added_and_asked(s, path), 400 * MB)
    ends(s)
    return came


LARK = r"start: A" + "\n" + r"A: ~/.*a.{60}/ & /.*b.{60}/ & ~/.*c.{61}/"


def lark(text):
    return {"type": "grammar", "grammar": {"syntax": "lark", "definition": text}}


@expect("s4", "compiling a grammar ends at its limit", LARK, fresh)
def _(s, stage):
    came = mild(s, lambda: s.chat(response_format=lark(LARK), timeout=40), seconds=COMPILE + SLACK)
    ends(s)
    return came


@expect("s4", "forms of others wait their turn, not forever", "two such grammars, then a schema and a forced call", fresh)
def _(s, stage):
    bombs = [beside(s.chat, response_format=lark(LARK.replace("60", str(60 + i))), timeout=60) for i in range(2)]
    time.sleep(1)

    def all():
        ok(s.chat(response_format=form({"type": "boolean"}), timeout=50))
        return s.chat(
            tools=[{"type": "function", "function": {"name": "w", "parameters": {"type": "object", "properties": {}}}}],
            tool_choice="required",
            timeout=50,
        )

    answer, took, peak = s.watch(all, 2 * COMPILE + SLACK + 5, 1500 * MB)
    ok(answer)
    want(peak < 300 * MB, f"{peak // MB} MB more")
    for b in bombs:
        b.join(2 * COMPILE + SLACK)
    ends(s)
    return f"200 after {took:.1f} s, {peak // MB} MB more"
