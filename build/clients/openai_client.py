"""Talks to a server on the scripted engine (libraries.json) with the openai package.

python openai_client.py BASE_URL   (without /v1)
"""

import json
import sys
import urllib.request

import openai

from checks import WEATHER, check, comes_again, in_flight, let_go, refusals, run

BASE = sys.argv[1]
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": WEATHER}}]
client = openai.OpenAI(base_url=BASE + "/v1", api_key="unused", max_retries=0, timeout=60)


def get(path):
    return urllib.request.urlopen(BASE + path).read().decode()


def ask(text, **more):
    return client.chat.completions.create(model="tandem", messages=[{"role": "user", "content": text}], **more)


def models():
    ids = [m.id for m in client.models.list()]
    check(ids[0] == "tandem" and len(ids) > 1, f"models {ids}")
    check(client.models.retrieve(ids[1]).id == ids[1], f"the model {ids[1]} is not found by its id")


def chat():
    whole = ask("say pong")
    check(whole.choices[0].message.content == "pong" and whole.choices[0].finish_reason == "stop", f"{whole}")
    check(whole.model != "tandem", f"the reply's model is the alias: {whole.model}")
    check(whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens, f"{whole.usage}")
    cut = ask("say pong", max_tokens=1)
    check(cut.choices[0].finish_reason == "length" and cut.usage.completion_tokens == 1, f"{cut}")


def stream():
    text, finish, usage, ids = "", [], None, set()
    for chunk in ask("say pong", stream=True, stream_options={"include_usage": True}):
        ids.add(chunk.id)
        usage = chunk.usage or usage
        for c in chunk.choices:
            text += c.delta.content or ""
            finish += [c.finish_reason] if c.finish_reason else []
    check((text, finish, len(ids)) == ("pong", ["stop"], 1) and usage.completion_tokens > 0, f"{text} {finish} {ids} {usage}")


def completions():
    whole = client.completions.create(model="tandem", prompt="<|im_start|>user\nsay pong<|im_end|>\n<|im_start|>assistant\n")
    check(whole.choices[0].text == "pong", f"{whole}")


def calls(answer):
    return [(c.function.name, json.loads(c.function.arguments)) for c in answer.choices[0].message.tool_calls or []]


def tools():
    messages = [{"role": "user", "content": "What is the weather in Paris?"}]
    answer = client.chat.completions.create(model="tandem", messages=messages, tools=TOOLS)
    message = answer.choices[0].message
    check(answer.choices[0].finish_reason == "tool_calls" and message.content.strip() == "I look.", f"{answer}")
    check(calls(answer) == [("weather", {"city": "Paris", "days": 2})], f"{answer}")
    messages += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "raining"}]
    last = client.chat.completions.create(model="tandem", messages=messages, tools=TOOLS)
    check(last.choices[0].message.content == "In Paris it is raining.", f"{last}")


def tool_stream():
    names, arguments, ids, finish = {}, {}, {}, None
    for chunk in ask("the weather in Oslo and Rome?", tools=TOOLS, stream=True):
        for c in chunk.choices:
            finish = c.finish_reason or finish
            for call in c.delta.tool_calls or []:
                if call.id:
                    ids[call.index], names[call.index] = call.id, call.function.name
                arguments[call.index] = arguments.get(call.index, "") + (call.function.arguments or "")
    got = [(names[i], json.loads(arguments[i])) for i in sorted(names)]
    check(got == [("weather", {"city": "Oslo", "days": 1}), ("weather", {"city": "Rome", "days": 1})], f"{got}")
    check(finish == "tool_calls" and len(set(ids.values())) == 2, f"{finish} {ids}")


def tool_choice():
    none = ask("say pong", tools=TOOLS, tool_choice="none")
    check(none.choices[0].message.content == "pong", f"{none}")
    named = ask("call it", tools=TOOLS, tool_choice={"type": "function", "function": {"name": "weather"}}, max_tokens=400)
    check(named.choices[0].message.tool_calls[0].function.name == "weather", f"{named}")
    single = ask("the weather in Oslo and Rome?", tools=TOOLS, parallel_tool_calls=False)
    check(len(single.choices[0].message.tool_calls) == 1, f"{single}")


def reasoning():
    message = ask("Think, then add 2 and 2.").choices[0].message
    check(message.content == "Four." and message.model_extra["reasoning_content"] == "Two and two.", f"{message}")
    text = thought = ""
    for chunk in ask("Think, then add 2 and 2.", stream=True):
        for c in chunk.choices:
            text += c.delta.content or ""
            thought += (c.delta.model_extra or {}).get("reasoning_content") or ""
    check((text, thought) == ("Four.", "Two and two."), f"{text!r} {thought!r}")


def structured():
    schema = {"type": "object", "properties": {"word": {"enum": ["pong"]}}, "required": ["word"], "additionalProperties": False}
    answer = ask("say pong in JSON", response_format={"type": "json_schema", "json_schema": {"name": "w", "strict": True, "schema": schema}}, max_tokens=200)
    check(json.loads(answer.choices[0].message.content) == {"word": "pong"}, f"{answer}")


def refused(kind, code, **more):
    try:
        client.chat.completions.create(**({"model": "tandem", "messages": [{"role": "user", "content": "say pong"}]} | more))
    except openai.APIStatusError as e:
        check(type(e) is kind and e.code == code and e.request_id, f"{type(e).__name__} {e.code} for {more}: {e}")
        return str(e)
    check(False, f"accepted {more}")


def errors():
    bad = openai.BadRequestError
    refused(openai.NotFoundError, "model_not_found", model="no-such-model")
    refused(bad, "invalid_request", temperature=-1)
    refused(bad, "invalid_request", response_format={"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": {"type": "nonsense"}}})
    refused(bad, "invalid_request", messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}])
    for stream in (False, True):
        text = refused(bad, "context_length_exceeded", messages=[{"role": "user", "content": "a b " * 100_000}], stream=stream)
        check("maximum context length is 131072 tokens" in text, text)


def error_midway():
    text = ""
    try:
        for chunk in ask("fail midway", stream=True):
            text += chunk.choices[0].delta.content or ""
    except openai.APIError as e:
        check(text.startswith("half") and e.body.get("message"), f"{text!r} {e.body}")
        return
    check(False, f"no error after {text!r}")


def retries():
    """The package repeats a request that the server refused for the moment. It does not repeat a request that failed."""
    stubborn = client.with_options(max_retries=2)

    def asked(text, **more):
        return stubborn.chat.completions.create(model="tandem", messages=[{"role": "user", "content": text}], **more)

    comes_again(get, lambda text: asked(text).choices[0].message.content)
    comes_again(get, lambda text: "".join(c.choices[0].delta.content or "" for c in asked(text, stream=True) if c.choices))
    comes_again(get, lambda text: stubborn.responses.create(model="tandem", input=text).output_text)
    before = refusals(get, 500)
    try:
        asked("fail midway")
    except openai.InternalServerError:
        check(refusals(get, 500) == before + 1, f"a request that failed was sent {refusals(get, 500) - before} times, want 1")
        return
    check(False, "a request that failed gives no error")


def keep_alive():
    check(ask("think for long", timeout=30).choices[0].message.content == "done", "an answer that takes long without a stream is not complete")
    patient = client.with_options(timeout=openai.Timeout(3, connect=3))  # seconds between two reads
    text = "".join(c.choices[0].delta.content or "" for c in patient.chat.completions.create(
        model="tandem", messages=[{"role": "user", "content": "think for long"}], stream=True) if c.choices)
    check(text == "done", f"{text!r}")


def disconnect():
    stream = ask("count slowly", stream=True)
    next(iter(stream))
    check(in_flight(get) == 1, f"{in_flight(get)} requests in flight while one streams")
    stream.close()
    let_go(get, "a stream")
    try:
        ask("count slowly", timeout=1)
    except openai.APITimeoutError:
        let_go(get, "a whole answer")
        return
    check(False, "a request with too short a timeout gives no error")


run({
    "models": models, "chat": chat, "chat, streamed": stream, "completions": completions, "tools": tools,
    "tools, streamed and parallel": tool_stream, "tool_choice": tool_choice, "reasoning": reasoning, "JSON schema": structured,
    "errors": errors, "retries": retries, "error amid a stream": error_midway, "keep-alive": keep_alive, "disconnect": disconnect,
})
