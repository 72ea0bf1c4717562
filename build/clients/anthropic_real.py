"""Talks to a running `tandem serve` with the official anthropic package, as an agent would.

python anthropic_real.py BASE_URL   (without /v1; the server has loaded the pocket model)

Fails on the first answer that differs from what the Anthropic protocol, or our documented extensions, promise.
"""

import functools
import json
import sys

import anthropic

from checks import check, run

MODEL = "pocket"
ASK = {
    "model": MODEL,
    "max_tokens": 24,
    "messages": [{"role": "user", "content": "Write a Go function that adds two numbers."}],
    "extra_body": {"temperature": 0},  # newer versions no longer name it
}
TOOL = {
    "name": "get_weather",
    "description": "Tells the weather of a city.",
    "input_schema": {
        "type": "object",
        "properties": {"unit": {"type": "string", "enum": ["C", "F"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["unit", "days"],
        "additionalProperties": False,
    },
    "strict": True,
}


def said(message):
    """Returns the message without the fields that differ between requests."""
    blocks = []
    for b in message.content:
        check(b.type in ("text", "thinking", "tool_use"), f"a block of type {b.type}")
        blocks.append((b.type, b.text if b.type == "text" else b.thinking if b.type == "thinking" else (b.name, b.input)))
    return blocks, message.stop_reason, message.stop_sequence, message.usage.output_tokens, prompt_tokens(message.usage)


def prompt_tokens(usage):
    check(usage.cache_creation_input_tokens == 0, f"usage is {usage}")
    return usage.input_tokens + usage.cache_read_input_tokens


def streamed(client, **ask):
    """Returns the final message of a stream, and checks the pieces against it."""
    with client.messages.stream(**ask) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    check(text == "".join(b.text for b in message.content if b.type == "text"), f"pieces {text!r} of {message.content}")
    return message


def models(client):
    listed = list(client.models.list())
    ids = [m.id for m in listed]
    check(ids[0] == "tandem", f"the list begins with {ids[0]}, not with the alias")
    check(MODEL in ids, f"the list has {ids}, not {MODEL}")
    check(client.models.retrieve(MODEL).type == "model", "a model asked for by its id has another type than model")


def messages(client):
    whole = client.messages.create(**ASK)
    check((whole.type, whole.role, whole.model) == ("message", "assistant", MODEL), f"a message {whole}")
    check(whole.stop_reason in ("end_turn", "max_tokens"), f"stop_reason is {whole.stop_reason}")
    check(0 < whole.usage.output_tokens <= ASK["max_tokens"], f"usage is {whole.usage}")
    check(whole._request_id and whole._request_id.startswith("req_"), f"request id {whole._request_id}")
    check(said(streamed(client, **ASK)) == said(whole), "the streamed answer differs from the whole one")

    ask = {**ASK, "system": [{"type": "text", "text": "You write Go.", "cache_control": {"type": "ephemeral"}}]}
    again = client.messages.create(**ask)
    check(prompt_tokens(again.usage) > prompt_tokens(whole.usage), "the prompt does not contain the system text")
    first, second = (client.messages.create(**{**ask, "extra_body": {"temperature": 1, "seed": 7}}) for _ in range(2))
    check(said(first) == said(second), "one seed gives two different answers")


def stops(client):
    text = client.messages.create(**ASK).content[0].text
    stop = text[len(text) // 2 :][:4]
    whole = client.messages.create(**ASK, stop_sequences=["\0never", stop])
    check((whole.stop_reason, whole.stop_sequence) == ("stop_sequence", stop), f"it ends by {whole.stop_reason}, {whole.stop_sequence!r}")
    kept = "".join(b.text for b in whole.content)
    check(kept == text[: text.index(stop)], f"{kept!r} of {text!r} before {stop!r}")
    check(said(streamed(client, **ASK, stop_sequences=["\0never", stop])) == said(whole), "with stop sequences the streamed answer differs from the whole one")


def begun(client):
    """An answer continues the beginning that the request gives."""
    text = client.messages.create(**ASK).content[0].text
    half = text[: len(text) // 2].rstrip()
    ask = {**ASK, "messages": ASK["messages"] + [{"role": "assistant", "content": half}]}
    rest = client.messages.create(**ask)
    check(client.messages.count_tokens(model=MODEL, messages=ask["messages"]).input_tokens == prompt_tokens(rest.usage), "count_tokens and usage count the prompt differently")
    check(not rest.content[0].text.startswith(half), "the answer repeats its beginning")


def counts(client):
    for more in ({}, {"system": "You write Go."}, {"tools": [TOOL]}, {"thinking": {"type": "adaptive"}}):
        counted = client.messages.count_tokens(model=MODEL, messages=ASK["messages"], **more)
        usage = client.messages.create(**ASK, **more).usage
        check(counted.input_tokens == prompt_tokens(usage), f"counted {counted.input_tokens}, then {usage}")


def tools(client):
    ask = {**ASK, "max_tokens": 200, "tools": [TOOL, {"type": "web_search_20250305", "name": "web_search"}]}
    for choice in ({"type": "tool", "name": TOOL["name"]}, {"type": "any", "disable_parallel_tool_use": True}):
        call = client.messages.create(**ask, tool_choice=choice)
        check(call.stop_reason == "tool_use", f"under {choice} it ends by {call.stop_reason}: {call.content}")
        check(len(call.content) == 1 and call.content[0].type == "tool_use", f"under {choice}: {call.content}")
        used = call.content[0]
        check(used.name == TOOL["name"] and used.input["unit"] in ("C", "F") and 1 <= used.input["days"] <= 9 and len(used.input) == 2, f"a call {used}")
        check(said(streamed(client, **ask, tool_choice=choice)) == said(call), f"under {choice} the streamed call differs from the whole one")

    ask["messages"] = ASK["messages"] + [
        {"role": "assistant", "content": call.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": used.id, "content": [{"type": "text", "text": "Sunny."}]}, {"type": "text", "text": "So?"}]},
    ]
    after = client.messages.create(**ask, tool_choice={"type": "none"})
    check(after.stop_reason in ("end_turn", "max_tokens"), f"it ends by {after.stop_reason}")
    check(prompt_tokens(after.usage) > prompt_tokens(client.messages.create(**ASK).usage), "the prompt does not contain the tool's result")
    check(said(streamed(client, **ask, tool_choice={"type": "none"})) == said(after), "after a tool's result the streamed answer differs from the whole one")


def formats(client):
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}
    whole = client.messages.create(**ASK, output_config={"format": {"type": "json_schema", "schema": schema}})
    check(json.loads(whole.content[0].text) in ({"ok": True}, {"ok": False}), f"it says {whole.content}")


def refusals(client):
    def refused(kind, name, words, **ask):
        for send in (client.messages.create, lambda **ask: streamed(client, **ask)):
            try:
                send(**{**ASK, **ask})
            except anthropic.APIStatusError as e:
                check(type(e) is kind, f"{type(e).__name__} instead of {kind.__name__}: {e}")
                check(e.body["error"]["type"] == name and words in e.body["error"]["message"], f"{e.body}, want {name}: {words}")
                check(e.request_id and e.request_id == e.body["request_id"], f"request id {e.request_id} of {e.body}")
                continue
            check(False, f"accepted {str(ask)[:200]}")

    bad = (anthropic.BadRequestError, "invalid_request_error")
    refused(anthropic.NotFoundError, "not_found_error", "no-such-model", model="no-such-model")
    refused(*bad, "max_tokens", max_tokens=-7)
    refused(*bad, "at least one message", messages=[])
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
    refused(*bad, "takes text only", messages=[{"role": "user", "content": [image]}])
    refused(*bad, "tool_choice", tool_choice={"type": "any"})
    refused(*bad, "prompt is too long: ", messages=[{"role": "user", "content": "a b " * 100_000}])


def main(base):
    client = anthropic.Anthropic(base_url=base, api_key="unused", max_retries=0, timeout=120)
    tests = {
        "models": models, "chat": messages, "stop texts": stops, "an answer that is begun": begun, "counted tokens": counts,
        "tool_choice": tools, "JSON schema": formats, "errors": refusals,
    }
    run({feature: functools.partial(test, client) for feature, test in tests.items()})


if __name__ == "__main__":
    main(sys.argv[1])
