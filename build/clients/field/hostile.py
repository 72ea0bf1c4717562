"""Hostile files and requests, and a machine that is not well."""

import json
import os
import re
import sqlite3
import struct
import subprocess
import threading
import time

import tiny
from bodies import ok
from bombs import MB, added_and_asked, ends, fresh, mild
from checks import Wrong, expect, want
from models import add, not_added, pulled

# Files


def fifo(folder, name):
    path = os.path.join(folder, name)
    if os.path.lexists(path):
        os.remove(path)
    os.mkfifo(path)


for name in (
    "config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
):

    @expect("s5", "what is no regular file is refused before it is read", f"models add, a FIFO as {name}", "models")
    def _(s, stage, name=name):
        path = tiny.folder(stage.folder, "fifo-" + name, files={"model.safetensors": None} if name.endswith("index.json") else {})
        fifo(path, name)
        try:
            status, said = s.tandem("models", "add", path, timeout=8)
        except subprocess.TimeoutExpired:
            raise Wrong("models add does not return within 8 s")
        if status == 0:
            answer = s.chat(model=said.splitlines()[0], timeout=8)
            want(answer.status in (400, 422) and name in answer.text, f"{answer}")
            said = answer.text
        want(name in said, said)
        return said


@expect(
    "s5", "a folder that does not answer costs itself alone", "a FIFO as config.json in the hub's cache; /app/found, add, load and removal", fresh
)
def _(s, stage):
    snapshot = os.path.join(s.home, "hf", "hub", "models--org--dead", "snapshots", "a" * 40)
    os.makedirs(snapshot)
    tiny.put(os.path.join(s.home, "hf", "hub", "models--org--dead"), "refs/main", "a" * 40)
    for name in "config.json", "model.safetensors":
        fifo(snapshot, name)
    start = time.monotonic()
    found = ok(s.control("GET", "/app/found", timeout=10))
    name = add(s, tiny.folder(stage.folder, "beside-a-dead-one"))
    ok(s.complete("x", model=name, timeout=10))
    status, said = s.tandem("models", "remove", "--yes", name, timeout=10)
    want(status == 0, said)
    took = time.monotonic() - start
    want(took < 15, f"{took:.1f} s")
    ends(s)
    return f"{took:.1f} s, {found.text}"


@expect("s5", "a checkpoint that is no regular file costs itself alone", "FIFOs as checkpoint files", fresh)
def _(s, stage):
    prompt = "func main() {\n" * 60
    ok(s.complete(prompt))
    s.stop()
    folder = os.path.join(s.home, "tandem", "checkpoints")
    names = os.listdir(folder)
    want(names, "no checkpoint was written")
    for name in names:
        fifo(folder, name)
    again = stage.serve("--model", "pocket", home=s.home)
    answer = ok(again.complete(prompt, timeout=15))
    ends(again)
    return f"{answer.status} beside {len(names)} FIFOs"


@expect("s6", "a short request of another model goes between two chunks", "6,000 tokens of one model, requests of one token of another", fresh)
def _(s, stage):
    other, prompt = add(s, tiny.folder(stage.folder, "short")), " ".join(f"{i % 89} y" for i in range(1500))
    ok(s.complete("x", model=other, max_tokens=1))
    waits, whole = [], []

    def long():
        start = time.monotonic()
        whole.append((s.complete(prompt, max_tokens=1), time.monotonic() - start))

    thread = threading.Thread(target=long, daemon=True)
    thread.start()
    time.sleep(0.2)
    while thread.is_alive():
        start = time.monotonic()
        ok(s.complete("x", model=other, max_tokens=1))
        waits.append(time.monotonic() - start)
    answer, took = whole[0]
    tokens = ok(answer).json["usage"]["prompt_tokens"]
    chunk = took / (tokens / 512)  # seconds; the last ones take longer
    came = f"{max(waits):.2f} s at most, beside {tokens} tokens that take {took:.1f} s, {len(waits)} requests"
    want(len(waits) > 4 and max(waits) < 3 * chunk + 0.3, came)
    ends(s)
    return came


LIST = b'{"model":"tandem","max_tokens":1,"prompt":[' + b",".join([b"1"] * (31_000_000 // 2)) + b"]}"


@expect("s7", "a prompt beyond the context is not read to its end", "one body of 31 MB of token ids", fresh)
def _(s, stage):
    return mild(s, lambda: s.post("/v1/completions", LIST, headers={"Content-Type": "application/json"}), 150 * MB, 20)


@expect("s7", "large bodies at once are counted by their bytes", "eight bodies of 31 MB of token ids", fresh)
def _(s, stage):
    def all():
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(s.post("/v1/completions", LIST, headers={"Content-Type": "application/json"})))
            for _ in range(8)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return next((a for a in answers if a.status == 200), answers[0])

    came = mild(s, all, 600 * MB, 30)
    ends(s)
    return came


@expect("s8", "sizes that no file has are refused", "a hub that announces 2^62 bytes for each of two files", "models")
def _(s, stage):
    files, start = tiny.contents(tiny.folder(stage.folder, "announced")), time.monotonic()
    tensors = files.pop("model.safetensors")
    files |= {f"model-0000{i}-of-00002.safetensors": tensors for i in (1, 2)}
    hub, said = pulled(stage, files, sizes={n: 1 << 62 for n in files if n.endswith(".safetensors")})
    took = time.monotonic() - start
    want("ends with 1" in said and took < 15 and hub.sent < 4 * MB, f"{took:.1f} s, {hub.sent} bytes were sent: {said}")
    return f"{took:.1f} s, {hub.sent} bytes were sent: {said}"


@expect("s9", "the number of tensors is bounded", "a header of 700,000 empty tensors", fresh)
def _(s, stage):
    header = json.dumps({f"model.layers.{i}.x.weight": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(700_000)}).encode()
    path = tiny.folder(stage.folder, "many", files={"model.safetensors": struct.pack("<Q", len(header)) + header})
    start = time.monotonic()
    came = not_added(s, path)
    took = time.monotonic() - start
    want(took < 5, f"{took:.1f} s: {came}")
    return f"{took:.1f} s: {came}"


@expect(
    "s10", "while another process holds the database, one answer waits and the others do not", "BEGIN IMMEDIATE, three requests, a setting", fresh
)
def _(s, stage):
    ok(s.complete("x", max_tokens=1))
    other = sqlite3.connect(os.path.join(s.home, "tandem", "tandem.db"))
    other.execute("BEGIN IMMEDIATE")
    waits = []
    for i in range(3):
        start = time.monotonic()
        ok(s.complete(f"x{i}", max_tokens=1))
        waits.append(round(time.monotonic() - start, 1))
    answer = s.control("POST", "/app/settings", {"menu_speed": True}, timeout=30)
    other.rollback()
    want(waits[0] < 12 and max(waits[1:]) < 1.5, f"{waits} s")
    want(answer.status != 500 and str(os.getpid()) in answer.text, f"who holds it is not said: {answer}")
    return f"{waits} s; {answer}"


for state in "while it runs", "at its start":

    @expect("s10", "a full disk costs the history alone, and is said", f"the home's disk is full {state}", "small_disk")
    def _(disk, stage, state=state):
        home = os.path.join(disk, state.replace(" ", "-"))
        os.mkdir(home)
        filler = os.path.join(disk, "filler")

        def fill():
            with open(filler, "wb") as f:
                try:
                    while True:
                        f.write(bytes(MB))
                        f.flush()
                except OSError:
                    pass

        try:
            s = stage.serve("--model", "pocket", home=home)
            ok(s.complete("x", max_tokens=1))
            if state == "at its start":
                s.stop()
            fill()
            if state == "at its start":
                try:
                    s = stage.serve("--model", "pocket", home=home)
                except OSError as e:
                    want("full" in str(e) or "space" in str(e), f"{e}")
                    return f"{e}"
            waits = []
            for i in range(3):
                start = time.monotonic()
                ok(s.complete(f"x{i}", max_tokens=1))
                waits.append(round(time.monotonic() - start, 1))
            answer = s.control("POST", "/app/settings", {"menu_speed": True}, timeout=30)
            want(max(waits[1:]) < 1.5, f"{waits} s")
            want(answer.status != 500 and ("full" in answer.text or "space" in answer.text), f"{answer}")
            ends(s)
            return f"{waits} s; {answer}"
        finally:
            if os.path.exists(filler):
                os.remove(filler)

# What a model's files say


@expect("s11", "advice that no sampling can follow is ignored, and shown at the model", 'generation_config {"top_p": -5}', "models")
def _(s, stage):
    name = add(s, tiny.folder(stage.folder, "advised", files={"generation_config.json": {"top_p": -5, "temperature": "hot"}}))
    answer = ok(s.post("/v1/completions", {"model": name, "prompt": "x", "max_tokens": 1}))
    shown = (
        s.tandem("models", "list", "--json")[1] + s.control("GET", "/app/models").text + s.control("GET", "/app/model-settings?model=" + name).text
    )
    want("top_p" in shown, f"the model does not show it; {answer}")
    return f"{answer.status}"


@expect("s12", "a template that cannot be read is told as that", "chat_template.jinja: {% for %} in its third line", "models")
def _(s, stage):
    name = add(s, tiny.folder(stage.folder, "unread", template="a\nb\n{% for %}"))
    answer = s.chat(model=name)
    listed = s.tandem("models", "list")[1]
    want(answer.status in (400, 422) and "has no chat template" not in answer.text and "line 3" in answer.text, f"{answer}")
    want("line 3" in listed and "line 3" in s.said(), f"the answer says it, the list {'line 3' in listed}, the log {'line 3' in s.said()}")
    return f"{answer}"


def short(s, answer, before):
    log = len(s.said()) - before
    want(
        len(answer.text) < 8000 and log < 8000 and answer.status in (400, 404, 422),
        f"{answer.status}, {len(answer.text)} characters, {log} more in the log: {answer.text[:200]}",
    )
    return f"{answer.status}, {len(answer.text)} characters, {log} more in the log: {answer.text}"


@expect("s13", "what a file or a request says is clipped", "a token's name of 20 MB that is not allowed", "models")
def _(s, stage):
    tokenizer = tiny.tokenizer()
    tokenizer["added_tokens"][0]["content"] = "x" * 20_000_000
    tokenizer["model"]["merges"] = ["y" * 100 + " nothing"]
    path, before = tiny.folder(stage.folder, "name", files={"tokenizer.json": tokenizer}), len(s.said())
    status, said = s.tandem("models", "add", path)
    if status:
        want(len(said) < 8000, f"{len(said)} characters")
        return said
    return short(s, s.complete("x", model=said.splitlines()[0]), before)


@expect("s13", "what a file or a request says is clipped", "raise_exception with 10 MB", "models")
def _(s, stage):
    name, before = add(s, tiny.folder(stage.folder, "raises", template="{{ raise_exception('x' * 10000000) }}")), len(s.said())
    return short(s, s.chat(model=name), before)


@expect("s13", "what a file or a request says is clipped", "a model's name of 4 MB", "models")
def _(s, stage):
    before = len(s.said())
    came = short(s, s.chat(model="x" * 4_000_000), before)
    want(len(s.control("GET", "/app/report").text) < 2_000_000, "the report repeats it")
    return came


# The edge


@expect("s14", "a folder of the page is not found", "GET /assets/", "models")
def _(s, stage):
    answer = s.get("/assets/")
    want(answer.status == 404, f"{answer.status} {answer.headers.get('Location')}")
    return f"{answer.status}"


HEADERS = {
    "a scheme without case": lambda key: {"Authorization": f"bearer {key}"},
    "a scheme in capitals": lambda key: {"Authorization": f"BEARER {key}"},
    "x-api-key beside a wrong Authorization": lambda key: {"Authorization": "Bearer wrong", "x-api-key": key},
    "Authorization beside a wrong x-api-key": lambda key: {"Authorization": f"Bearer {key}", "x-api-key": "wrong"},
}
for what, headers in HEADERS.items():

    @expect("s14", "a right key is taken", what, "keyed")
    def _(s, key, headers=headers):
        return f"{ok(s.get('/v1/models', headers=headers(key))).status}"


@expect("s14", "a wrong key is refused", "Authorization and x-api-key, both wrong", "keyed")
def _(s, key):
    answer = s.get("/v1/models", headers={"Authorization": "Bearer wrong", "x-api-key": "wrong"})
    want(answer.status == 401, f"{answer}")
    return f"{answer.status}"


for host in ".", "..", "":

    @expect("s14", "a host that is no name is refused", f"--allow-host '{host}'", "program")
    def _(program, env, host=host):
        done = subprocess.run([program, "serve", "--addr", "127.0.0.1:0", "--allow-host", host], env=env, capture_output=True, text=True, timeout=8)
        want(done.returncode == 2, f"{done.returncode} {done.stdout}{done.stderr}")
        return f"{done.returncode} {done.stderr}"


@expect("s14", "a hub that leads to a file is refused at once", "a redirect to file:///etc/passwd", "models")
def _(s, stage):
    files, start = tiny.contents(tiny.folder(stage.folder, "redirected")), time.monotonic()
    _, said = pulled(stage, files, redirect={"config.json": "file:///etc/passwd", "model.safetensors": "file:///etc/passwd"})
    took = time.monotonic() - start
    want("ends with 1" in said and took < 8, f"{took:.1f} s: {said}")
    return f"{took:.1f} s: {said}"


@expect("s14", "a hub's file and folder of one name are told as that", "tokenizer.json and tokenizer.json/x.json", "models")
def _(s, stage):
    files = tiny.contents(tiny.folder(stage.folder, "both")) | {"tokenizer.json/x.json": b"{}"}
    _, said = pulled(stage, files)
    want("ends with 1" in said and "tokenizer.json" in said and "folder" in said, said)
    return said


@expect("s14", "a home whose path is too long is told as that", "TANDEM_HOME of 600 bytes", "program")
def _(program, env):
    home = os.path.join(env["HOME"], "x" * 200, "y" * 200, "z" * 200)
    os.makedirs(home)
    done = subprocess.run([program, "serve", "--addr", "127.0.0.1:0"], env=env | {"TANDEM_HOME": home}, capture_output=True, text=True, timeout=20)
    said = done.stdout + done.stderr
    want(done.returncode != 0 and ("too long" in said or "longer than" in said or "shorter" in said), f"{done.returncode} {said}")
    return said


@expect("s14", "a model that computes no numbers is told as that", "weights of NaN", "models")
def _(s, stage):
    for head in False, True:
        name = add(s, tiny.folder(stage.folder, f"nan-{head}", tensors=tiny.weights({"model_type": "llama"} | tiny.COMMON, fill=float("nan"))))
        answer = s.chat(model=name, stream=head)
        want("no numbers" in answer.text, f"{answer}")
    return f"{answer}"


@expect("s14", "a config has a bound of some MiB", "config.json of 256 MiB", fresh)
def _(s, stage):
    path = tiny.folder(stage.folder, "huge", x="y" * (250 << 20))
    return mild(s, lambda: added_and_asked(s, path), 150 * MB)


# The terminal and the home

for what, signs in (
    ("a title for the terminal", "\x1b]0;heron\x07"),
    ("a cleared screen", "\x1b[2J\x1b[H"),
    ("C1 signs", "\x9b31m\x9d0;x\x9c"),
    ("turned text", "\u202eheron\u202c"),
):

    @expect("s15", "nothing that a request holds moves the cursor of a terminal", f"a prompt with {what}; runs, checkpoints, checkpoints show", fresh)
    def _(s, stage, signs=signs):
        ok(s.chat("heron " * 600 + signs + "\nand on", max_tokens=1))
        s.stop()  # it keeps the prompt
        s = stage.serve("--model", "pocket", home=s.home)
        ids = [json.loads(line)["id"] for line in s.tandem("checkpoints", "--json")[1].splitlines()]
        verbs = [("runs",), ("checkpoints",), *[("checkpoints", "show", id) for id in ids]]
        said = "".join(s.shown(*verb) for verb in verbs)
        want(ids and not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", said), repr(said[-600:]))
        return f"{len(said)} characters, {len(ids)} checkpoints"


for path in "checkpoints", "texts", "tandem.db":

    @expect("s16", "a start takes the rights of others from what is in the home", f"{path} with mode 0777", fresh)
    def _(s, stage, path=path):
        s.stop()
        path = os.path.join(s.home, "tandem", path)
        want(os.path.lexists(path), f"there is no {path}")
        os.chmod(path, 0o777)
        stage.serve("--model", "pocket", home=s.home)
        mode = os.stat(path).st_mode & 0o777
        want(mode & 0o077 == 0, oct(mode))
        return oct(mode)
