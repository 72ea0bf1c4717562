"""Talks to a server on the scripted engine (libraries.json) with litellm.

python litellm_client.py BASE_URL PROVIDER...   (BASE_URL without /v1; PROVIDER is openai, ollama_chat or ollama)

The provider ollama knows no tools: it writes them into a prompt and asks for JSON. The provider ollama_chat takes no
tool_choice of its own, so it gets one as a field of the body.
"""

import json
import os
import sys
from typing import Literal

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks its maker for prices

import litellm
import pydantic

from checks import WEATHER, check, given_up, reader, run_each

BASE = sys.argv[1]
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": WEATHER}}]
WEATHER_CHOICE = {"type": "function", "function": {"name": "weather"}}
get = reader(BASE)
litellm.suppress_debug_info = True


class Word(pydantic.BaseModel):
    word: Literal["pong"]


def question(text, **more):
    return {"model": f"{PROVIDER}/tandem", "api_base": BASE + ("/v1" if PROVIDER == "openai" else ""), "api_key": "unused",
            "messages": [{"role": "user", "content": text}], "max_retries": 0, "timeout": 60} | more


def ask(text, **more):
    return litellm.completion(**question(text, **more))


def chat():
    whole = ask("say pong")
    check(whole.choices[0].message.content == "pong" and whole.choices[0].finish_reason == "stop", f"{whole}")
    check(whole.usage.prompt_tokens > 0 and whole.usage.completion_tokens > 0, f"{whole.usage}")
    cut = ask("say pong", max_tokens=1)
    check(cut.usage.completion_tokens == 1, f"{cut}")
    if PROVIDER != "ollama":  # which calls every end a stop
        check(cut.choices[0].finish_reason == "length", f"{cut}")


def stream():
    chunks = list(ask("say pong", stream=True))
    texts = [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
    check("".join(texts) == "pong" and len(texts) > 1, f"{texts}")
    check([c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"], f"{chunks}")


def calls(answer):
    return [(c.function.name, json.loads(c.function.arguments)) for c in answer.choices[0].message.tool_calls or []]


def tools():
    messages = [{"role": "user", "content": "What is the weather in Paris?"}]
    answer = ask("", messages=messages, tools=TOOLS)
    check(calls(answer) == [("weather", {"city": "Paris", "days": 2})] and answer.choices[0].finish_reason == "tool_calls", f"{answer}")
    messages += [answer.choices[0].message, {"role": "tool", "tool_call_id": answer.choices[0].message.tool_calls[0].id, "content": "raining"}]
    said = ask("", messages=messages, tools=TOOLS).choices[0].message.content
    if PROVIDER == "ollama":  # which asks for JSON as long as there are tools
        said = json.loads(said)["answer"]
    check(said == "In Paris it is raining.", said)


def tool_stream():
    chunks = list(ask("the weather in Oslo and Rome?", tools=TOOLS, stream=True))
    if PROVIDER == "openai":
        got = calls(litellm.stream_chunk_builder(chunks))
    else:  # here litellm numbers each chunk's calls from 0, and its builder mixes them up
        got = [(c.function.name, json.loads(c.function.arguments)) for x in chunks for c in x.choices[0].delta.tool_calls or []]
    check(got == [("weather", {"city": "Oslo", "days": 1}), ("weather", {"city": "Rome", "days": 1})], f"{got}")


def tool_choice():
    forced = {"extra_body": {"tool_choice": WEATHER_CHOICE}} if PROVIDER == "ollama_chat" else {"tool_choice": WEATHER_CHOICE}
    check(calls(ask("call it", tools=TOOLS, **forced)) == [("weather", {"city": "Rome", "days": 3})], "a forced call does not come")
    if PROVIDER == "openai":
        free = ask("call it", tools=TOOLS, tool_choice="auto")
        check(free.choices[0].message.content == "I call nothing." and not calls(free), f"{free}")


def structured():
    content = ask("say pong in JSON", response_format=Word).choices[0].message.content
    check(Word.model_validate_json(content).word == "pong", content)


def errors():
    def refused(kind, status, words, text="say pong", **more):
        for stream in (False, True):
            try:
                list(ask(text, stream=stream, **more))
            except litellm.exceptions.APIError as e:
                raise SystemExit(f"no class for this error: {e}")
            except Exception as e:
                check(type(e) is kind and e.status_code == status and words in str(e), f"{type(e).__name__}: {e}")
                continue
            check(False, f"accepted {more}")

    refused(litellm.NotFoundError, 404, "no-such-model", model=f"{PROVIDER}/no-such-model")
    long = litellm.ContextWindowExceededError if PROVIDER == "openai" else litellm.BadRequestError
    refused(long, 400, "131072", "a b " * 100_000)


async def disconnect():
    async def streamed():
        async for _ in await litellm.acompletion(**question("count slowly", stream=True)):
            pass

    await given_up(get, streamed)
    await given_up(get, lambda: litellm.acompletion(**question("count slowly")))


def tests(provider):
    global PROVIDER
    PROVIDER = provider
    all = {"chat": chat, "chat, streamed": stream, "tools": tools, "tools, streamed and parallel": tool_stream, "tool_choice": tool_choice,
           "JSON schema": structured, "errors": errors, "disconnect": disconnect}
    if PROVIDER == "ollama":  # which writes one call for an answer
        del all["tools, streamed and parallel"]
    return all


run_each(sys.argv[2:], tests)
