"""Talks to a server on the scripted engine (libraries.json) with the ollama package.

python ollama_client.py BASE_URL
"""

import json
import sys
import urllib.request

import ollama

from checks import WEATHER, check, in_flight, let_go, run

BASE = sys.argv[1]
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": WEATHER}}]
client = ollama.Client(host=BASE, timeout=60)


def get(path):
    return urllib.request.urlopen(BASE + path).read().decode()


def ask(text, **more):
    return client.chat(model="tandem", messages=[{"role": "user", "content": text}], **more)


def models():
    names = [m.model for m in client.list().models]
    check(any(n.startswith("tandem") for n in names), f"models {names}")
    shown = client.show("tandem")
    check("completion" in shown.capabilities and "tools" in shown.capabilities, f"{shown.capabilities}")
    ask("say pong")
    check(client.ps().models, "ps lists no loaded model")


def chat():
    whole = ask("say pong")
    check(whole.message.content == "pong" and whole.done and whole.done_reason == "stop" and whole.eval_count > 0, f"{whole}")
    check(ask("say pong", options={"num_predict": 1}).done_reason == "length", "an answer of 1 token does not end by length")


def stream():
    parts = list(ask("say pong", stream=True))
    check("".join(p.message.content or "" for p in parts) == "pong", f"{parts}")
    check([p.done for p in parts] == [False] * (len(parts) - 1) + [True], f"{parts}")


def generate():
    check(client.generate(model="tandem", prompt="say pong").response == "pong", "generate does not answer by the template")
    check("".join(p.response for p in client.generate(model="tandem", prompt="say pong", stream=True)) == "pong", "generate does not stream the answer")


def tools():
    messages = [{"role": "user", "content": "What is the weather in Paris?"}]
    answer = client.chat(model="tandem", messages=messages, tools=TOOLS)
    calls = [(c.function.name, dict(c.function.arguments)) for c in answer.message.tool_calls]
    check(calls == [("weather", {"city": "Paris", "days": 2})], f"{answer}")
    messages += [answer.message, {"role": "tool", "tool_name": "weather", "content": "raining"}]
    last = client.chat(model="tandem", messages=messages, tools=TOOLS)
    check(last.message.content == "In Paris it is raining.", f"{last}")


def tool_stream():
    calls = [c for p in ask("the weather in Oslo and Rome?", tools=TOOLS, stream=True) for c in p.message.tool_calls or []]
    check([c.function.arguments["city"] for c in calls] == ["Oslo", "Rome"], f"{calls}")


def reasoning():
    message = ask("Think, then add 2 and 2.", think=True).message
    check((message.thinking, message.content) == ("Two and two.", "Four."), f"{message}")


def structured():
    schema = {"type": "object", "properties": {"word": {"enum": ["pong"]}}, "required": ["word"], "additionalProperties": False}
    content = ask("say pong in JSON", format=schema).message.content
    check(json.loads(content) == {"word": "pong"}, content)


def errors():
    def refused(status, words, text="say pong", **more):
        try:
            ask(text, **more) if "model" not in more else client.chat(**more)
        except ollama.ResponseError as e:
            check(e.status_code == status and words in e.error, f"{e.status_code} {e.error}")
            return
        check(False, f"accepted {more}")

    refused(404, "no-such-model", model="no-such-model", messages=[])
    refused(400, "131072", "a b " * 100_000)


def error_midway():
    text = ""
    try:
        for part in ask("fail midway", stream=True):
            text += part.message.content or ""
    except ollama.ResponseError as e:
        check(text.startswith("half"), f"{text!r} {e}")
        return
    check(False, f"no error after {text!r}")


def keep_alive():
    patient = ollama.Client(host=BASE, timeout=3)  # seconds between two reads
    parts = list(patient.chat(model="tandem", messages=[{"role": "user", "content": "think for long"}], stream=True))
    check("".join(p.message.content for p in parts) == "done", f"{parts}")
    check([p.done for p in parts] == [False] * (len(parts) - 1) + [True], f"{parts}")
    parts = list(patient.generate(model="tandem", prompt="think for long", stream=True))
    check("".join(p.response for p in parts) == "done" and parts[-1].done, f"{parts}")


def disconnect():
    stream = ask("count slowly", stream=True)
    next(stream)
    check(in_flight(get) == 1, f"{in_flight(get)} requests in flight while one streams")
    stream.close()
    let_go(get, "a stream")


run({
    "models": models, "chat": chat, "chat, streamed": stream, "completions": generate, "tools": tools,
    "tools, streamed and parallel": tool_stream, "reasoning": reasoning, "JSON schema": structured, "errors": errors,
    "error amid a stream": error_midway, "keep-alive": keep_alive, "disconnect": disconnect,
})
