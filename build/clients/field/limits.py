"""Long, packed, empty and many requests, and routes and fields that programs count on."""

import base64
import gzip
import json
import threading
import time
import zlib

from bodies import CHAT, HI, MESSAGES, OLLAMA, RESPONSES, SHORT, ok, refused
from checks import Wrong, expect, want
from models import prompt_tokens

# Many and long


for what, path, count in (("chats", CHAT, 100), ("messages", MESSAGES, 100), ("chats of Ollama's", OLLAMA, 200)):

    @expect("w28", "a program may send many requests together", f"POST {path}, {count} {what} of one program", "pocket")
    def _(s, path=path, count=count):
        ends, body = [], SHORT[path]
        threads = [threading.Thread(target=lambda: ends.append(s.post(path, body, timeout=55).status)) for _ in range(count)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        want(ends == [200] * count, f"{ {e: ends.count(e) for e in ends} }")
        return f"{count} answers"


def left_out(s, answer):
    """Returns what the run of an answer says that the model did not get."""
    number = int(answer.headers["X-Tandem-Run"])
    for _ in range(100):  # the row is complete after the answer
        run = next((r for r in s.control("GET", "/app/runs").json["runs"] if r["id"] == number), {})
        if run.get("finish_reason"):
            return run.get("left_out", "")
        time.sleep(0.05)
    raise Wrong(f"run {number} has no end")


CONTEXT = 1024  # of the embedder
for what, body, texts in (
    ("truncate true", {"truncate": True}, 1),
    ("no truncate", {}, 1),
    ("truncate false", {"truncate": False}, 0),
    ("two texts", {"input": ["a", "word " * 5000]}, 2),
):

    @expect("w29", "texts for Ollama's embeddings are cut at the context unless the request says no", f"POST /api/embed, 25,000 letters, {what}", "embedder")
    def _(s, model, body=body, texts=texts):
        answer = s.post("/api/embed", {"model": model, "input": "word " * 5000} | body)
        if texts == 0:
            return refused(answer, "context length")
        tokens, told = ok(answer).json["prompt_eval_count"], left_out(s, answer)
        want(len(answer.json["embeddings"]) == texts and all(abs(sum(x * x for x in v) - 1) < 0.01 for v in answer.json["embeddings"]), f"{answer}"[:300])
        want(CONTEXT <= tokens < CONTEXT + 8 and told == f"the ends of 1 of {texts} texts" == answer.json["left_out"], f"{tokens} tokens, {told}")
        return f"{tokens} tokens, {told}"


LONG = [{"role": "user", "content": "heron " * 20_000}, {"role": "assistant", "content": "yes"}, *HI]
SYSTEM = {"role": "system", "content": "Be short."}
for what, path, body, left, cut in (  # left is what is left of the messages, and cut how many of how many are dropped
    ("truncation auto", RESPONSES, {"truncation": "auto", "input": LONG}, HI, "2 of 3"),
    ("a system message, truncation auto", RESPONSES, {"truncation": "auto", "input": [SYSTEM] + LONG}, [SYSTEM, *HI], "2 of 4"),
    ("a call in the middle, truncation auto", RESPONSES, {"truncation": "auto", "input": LONG[:1] + [
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, {"type": "function_call_output", "call_id": "c", "output": "x"}, *HI]}, HI, "3 of 4"),
    ("truncation disabled", RESPONSES, {"truncation": "disabled", "input": LONG}, None, ""),
    ("no truncation", RESPONSES, {"input": LONG}, None, ""),
    ("the last message alone is too long, truncation auto", RESPONSES, {"truncation": "auto", "input": LONG[:1]}, None, ""),
    ("no truncate", OLLAMA, {"messages": LONG}, HI, "2 of 3"),
    ("truncate false", OLLAMA, {"messages": LONG, "truncate": False}, None, ""),
    ("OpenAI's chats, which have no such field", CHAT, {"messages": LONG}, None, ""),
):

    @expect("w30", "the oldest turns are dropped where the request says so, else it is refused", f"POST {path}, 20,000 words, {what}", "pocket")
    def _(s, path=path, body=body, left=left, cut=cut):
        answer = s.post(path, SHORT[path] | body)
        if left is None:
            return refused(answer, "context")
        tokens, told = prompt_tokens(ok(answer)), left_out(s, answer)
        short = prompt_tokens(s.post(path, SHORT[path] | {"input" if path == RESPONSES else "messages": left}))
        want(tokens == short and told.startswith(f"{cut} messages "), f"{tokens} tokens, {short} of what is left, {told}")
        want(answer.json.get("left_out", answer.json.get("timings", {}).get("left_out")) == told, f"{answer}"[-300:])
        if path == RESPONSES:
            counted = ok(s.post(path + "/input_tokens", SHORT[path] | body)).json["input_tokens"]
            want(counted == tokens, f"{counted} tokens are counted, and {tokens} read")
        return f"{tokens} tokens, {told}"


# Packed

for encoding, pack in (("gzip", gzip.compress), ("deflate", zlib.compress), ("GZIP", gzip.compress)):
    for path in SHORT:

        @expect("w31", "a body may be packed", f"POST {path}, Content-Encoding: {encoding}", "pocket")
        def _(s, encoding=encoding, pack=pack, path=path):
            headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
            return f"{ok(s.post(path, pack(json.dumps(SHORT[path]).encode()), headers=headers)).status}"


for what, encoding, body, status in (
    ("40 MiB of spaces in 40 kB", "gzip", gzip.compress(b" " * (40 << 20)), 413),
    ("half of it", "gzip", gzip.compress(json.dumps(SHORT[CHAT]).encode())[:40], 400),
    ("no gzip", "gzip", b"{}", 400),
    ("br", "br", b"{}", 415),
):

    @expect("w31", "a packed body that cannot be read is refused", f"POST {CHAT}, {what}", "pocket")
    def _(s, encoding=encoding, body=body, status=status):
        return refused(s.post(CHAT, body, headers={"Content-Encoding": encoding, "Content-Type": "application/json"}), status=status)


# Routes and fields


for upgrade in (
    {"Upgrade": "websocket", "Connection": "Upgrade"},
    {"Upgrade": "WebSocket", "Connection": "keep-alive, Upgrade"},
    {"Upgrade": "websocket", "Connection": "Upgrade", "OpenAI-Beta": "responses_websockets=2026-02-06"},
):

    @expect("w32", "a program that asks for a websocket goes on without", f"GET {RESPONSES}, {upgrade}", "pocket")
    def _(s, upgrade=upgrade):
        key = {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
        return refused(s.get(RESPONSES, headers=upgrade | key), status=426)


for client in "codex_cli_rs/0.171.0", "ollama-python/0.6.1 (x86_64 linux) Python/3.12.3", "Go-http-client/1.1":

    @expect("w33", "Codex accepts the version of Ollama's API", f"GET /api/version by {client}", "pocket")
    def _(s, client=client):
        version = ok(s.get("/api/version", headers={"User-Agent": client})).json["version"]
        want([int(n) for n in version.split(".")] >= [0, 13, 4], version)
        return version


for documents in ["b"], ["b", "c"], [{"text": "b"}]:

    @expect("w33", "Cohere's clients find their route", f"POST /v2/rerank of a model that generates text, {documents}", "pocket")
    def _(s, documents=documents):
        return refused(s.post("/v2/rerank", {"model": "tandem", "query": "a", "documents": documents}), "Reranker")


for path in CHAT, "/v1/completions", RESPONSES, MESSAGES:

    @expect("w34", "without a model the current one answers", f"POST {path}, no model", "pocket")
    def _(s, path=path):
        return f"{ok(s.post(path, {k: v for k, v in SHORT[path].items() if k != 'model'})).status}"


for path, body, field, empty in (
    ("/api/embed", {"input": ""}, "embeddings", []),
    ("/api/embed", {"input": []}, "embeddings", []),
    ("/api/embeddings", {"prompt": ""}, "embedding", []),
):

    @expect("w35", "an empty text loads the model", f"POST {path}, {body}", "embedder")
    def _(s, model, path=path, body=body, field=field, empty=empty):
        answer = ok(s.post(path, {"model": model} | body))
        want(answer.json[field] == empty, f"{answer}")
        return answer.text


for name, status in (("tandem", 200), ("tandem:latest", 200), ("pocket", 200), ("no-such-model", 404)):

    @expect("w36", "a pull of a model that is there succeeds", f'POST /api/pull {{"model":"{name}"}}', "pocket")
    def _(s, name=name, status=status):
        answer = s.post("/api/pull", {"model": name})
        want(answer.status == status and (status != 200 or '"success"' in answer.text), f"{answer}")
        return answer.text


for name in "tandem", "tandem:latest", "pocket":

    @expect("w36", "a program finds the model that it asked for among those in memory", f'POST {OLLAMA} "{name}", GET /api/ps', "pocket")
    def _(s, name=name):
        ok(s.post(OLLAMA, SHORT[OLLAMA] | {"model": name}))
        names = [m["name"] for m in ok(s.get("/api/ps")).json["models"]]
        want(name in names or name + ":latest" in names, f"{names}")
        return f"{names}"


for format in "text", "json_object", 7:

    @expect("w37", "a response_format that is no object is refused with what it has to be", f"POST {CHAT}, response_format {format!r}", "pocket")
    def _(s, format=format):
        return refused(s.chat(response_format=format), "response_format", "type")


for threshold, more in (1000, {}), (1500, {"truncation": "auto"}), (1000, {"stream": True}):

    @expect(
        "w38", "a conversation that is to be compacted is refused with where to do it", f"POST {RESPONSES}, compaction at {threshold} of 3,000 tokens, {more}", "pocket"
    )
    def _(s, threshold=threshold, more=more):
        talk = [HI[0] | {"content": "heron " * 2000}, {"role": "assistant", "content": "yes"}, *HI]
        body = {"context_management": [{"type": "compaction", "compact_threshold": threshold}], "input": talk, "max_output_tokens": 64}
        return refused(s.post(RESPONSES, SHORT[RESPONSES] | body | more), "compact_threshold", "/v1/responses/compact")


TEXT = base64.b64encode(b"heron heron heron heron").decode()
FILES = {
    RESPONSES: ("input", {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64," + TEXT}),
    CHAT: ("messages", {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64," + TEXT}}),
    MESSAGES: ("messages", {"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": TEXT}}),
}
for path, (field, part) in FILES.items():

    @expect("w39", "a file of text is read", f"POST {path}, {json.dumps(part)}", "pocket")
    def _(s, path=path, field=field, part=part):
        hi = {"type": "input_text" if path == RESPONSES else "text", "text": "hi"}
        short, long = (prompt_tokens(s.post(path, SHORT[path] | {field: [{"role": "user", "content": c}]})) for c in ([hi], [part, hi]))
        want(long > short + 4, f"{long} tokens with it, {short} without")
        return f"{long} tokens with it, {short} without"

    @expect("w39", "a PDF is refused", f"POST {path}, the same as application/pdf", "pocket")
    def _(s, path=path, field=field, part=part):
        pdf = json.loads(json.dumps(part).replace("text/plain", "application/pdf").replace("a.txt", "a.pdf"))
        return refused(s.post(path, SHORT[path] | {field: [{"role": "user", "content": [pdf]}]}))
