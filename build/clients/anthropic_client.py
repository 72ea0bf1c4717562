"""Talks to a server on the scripted engine (libraries.json) with the anthropic package.

python anthropic_client.py BASE_URL
"""

import sys
import urllib.request

import anthropic

from checks import WEATHER, check, comes_again, in_flight, let_go, refusals, run

BASE = sys.argv[1]
TOOLS = [{"name": "weather", "description": "of a city", "input_schema": WEATHER}]
client = anthropic.Anthropic(base_url=BASE, api_key="unused", max_retries=0, timeout=60)


def get(path):
    return urllib.request.urlopen(BASE + path).read().decode()


def question(text, **more):
    return {"model": "tandem", "max_tokens": 1000, "messages": [{"role": "user", "content": text}]} | more


def ask(text, **more):
    return client.messages.create(**question(text, **more))


def models():
    ids = [m.id for m in client.models.list()]
    check(ids[0] == "tandem" and len(ids) > 1, f"models {ids}")
    check(client.models.retrieve(ids[1]).id == ids[1], f"the model {ids[1]} is not found by its id")


def chat():
    whole = ask("say pong")
    check([(b.type, b.text) for b in whole.content] == [("text", "pong")] and whole.stop_reason == "end_turn", f"{whole}")
    check(whole.usage.output_tokens > 0, f"{whole.usage}")
    check(ask("say pong", max_tokens=1).stop_reason == "max_tokens", "an answer of 1 token does not end by max_tokens")


def stream():
    with client.messages.stream(**question("say pong")) as events:
        kinds = [e.type for e in events if e.type != "text"]
        final = events.get_final_message()
    check(kinds[0] == "message_start" and kinds[-1] == "message_stop", f"{kinds}")
    check(final.content[0].text == "pong" and final.usage.output_tokens > 0, f"{final}")


def tools():
    messages = [{"role": "user", "content": "What is the weather in Paris?"}]
    answer = client.messages.create(model="tandem", max_tokens=1000, messages=messages, tools=TOOLS)
    check([b.type for b in answer.content] == ["text", "tool_use"] and answer.stop_reason == "tool_use", f"{answer}")
    call = answer.content[1]
    check((call.name, call.input) == ("weather", {"city": "Paris", "days": 2}), f"{call}")
    messages += [{"role": "assistant", "content": answer.content},
                 {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "raining"}]}]
    last = client.messages.create(model="tandem", max_tokens=1000, messages=messages, tools=TOOLS)
    check(last.content[0].text == "In Paris it is raining.", f"{last}")


def tool_stream():
    with client.messages.stream(**question("the weather in Oslo and Rome?", tools=TOOLS)) as events:
        final = events.get_final_message()
    got = [(b.name, b.input["city"]) for b in final.content if b.type == "tool_use"]
    check(got == [("weather", "Oslo"), ("weather", "Rome")] and len({b.id for b in final.content}) == 2, f"{final}")


def tool_choice():
    check(ask("say pong", tools=TOOLS, tool_choice={"type": "none"}).content[0].text == "pong", "with tool_choice none the model does not answer pong")
    named = ask("call it", tools=TOOLS, tool_choice={"type": "tool", "name": "weather"})
    check([b.name for b in named.content if b.type == "tool_use"] == ["weather"], f"{named}")


def reasoning():
    want = [("thinking", "Two and two."), ("text", "Four.")]
    more = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000}
    with client.messages.stream(**question("Think, then add 2 and 2.", **more)) as events:
        streamed = events.get_final_message()
    for answer in (ask("Think, then add 2 and 2.", **more), streamed):
        got = [(b.type, b.thinking if b.type == "thinking" else b.text) for b in answer.content]
        check(got == want and answer.content[0].signature, f"{answer}")


def counted():
    n = client.messages.count_tokens(model="tandem", messages=[{"role": "user", "content": "say pong"}], tools=TOOLS).input_tokens
    usage = ask("say pong", tools=TOOLS).usage
    check(n == usage.input_tokens + usage.cache_read_input_tokens, f"{n}, {usage}")


def errors():
    def refused(kind, words, text="say pong", **more):
        try:
            ask(text, **more)
        except anthropic.APIStatusError as e:
            check(type(e) is kind and words in str(e) and e.request_id, f"{type(e).__name__}: {e}")
            return
        check(False, f"accepted {more}")

    refused(anthropic.NotFoundError, "no-such-model", model="no-such-model")
    refused(anthropic.BadRequestError, "max_tokens", max_tokens=-7)
    refused(anthropic.BadRequestError, "> 131072", "a b " * 100_000)


def error_midway():
    text = ""
    try:
        with client.messages.stream(**question("fail midway")) as events:
            for piece in events.text_stream:
                text += piece
    except anthropic.APIError as e:
        check(text.startswith("half"), f"{text!r} {e}")
        return
    check(False, f"no error after {text!r}")


def retries():
    """The package repeats a request that the server refused for the moment. It does not repeat a request that failed."""
    stubborn = client.with_options(max_retries=2)

    def streamed(text):
        with stubborn.messages.stream(**question(text)) as events:
            return "".join(events.text_stream)

    comes_again(get, lambda text: stubborn.messages.create(**question(text)).content[0].text)
    comes_again(get, streamed)
    before = refusals(get, 500)
    try:
        stubborn.messages.create(**question("fail midway"))
    except anthropic.InternalServerError:
        check(refusals(get, 500) == before + 1, f"a request that failed was sent {refusals(get, 500) - before} times, want 1")
        return
    check(False, "a request that failed gives no error")


def keep_alive():
    patient = client.with_options(timeout=anthropic.Timeout(3, connect=3))  # seconds between two reads
    with patient.messages.stream(**question("think for long")) as events:
        check("".join(events.text_stream) == "done", "a streamed answer that takes long is not complete")


def disconnect():
    with client.messages.stream(**question("count slowly")) as events:
        next(iter(events.text_stream))
        check(in_flight(get) == 1, f"{in_flight(get)} requests in flight while one streams")
    let_go(get, "a stream")


run({
    "models": models, "chat": chat, "chat, streamed": stream, "tools": tools, "tools, streamed and parallel": tool_stream,
    "tool_choice": tool_choice, "reasoning": reasoning, "counted tokens": counted, "errors": errors, "retries": retries, "error amid a stream": error_midway,
    "keep-alive": keep_alive, "disconnect": disconnect,
})
