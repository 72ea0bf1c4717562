"""Talks to a server on the scripted engine (libraries.json) with LangChain.

python langchain_client.py BASE_URL VENDOR...   (BASE_URL without /v1; VENDOR is openai, responses, anthropic or ollama)

langchain-ollama takes a tool_choice and does not send it, so with it no call can be forced.
"""

import sys
import warnings
from typing import Literal

import anthropic
import langchain_core.messages as messages
import ollama
import openai
import pydantic
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

from checks import check, given_up, let_go, reader, run_each

BASE = sys.argv[1]
get = reader(BASE)


class Word(pydantic.BaseModel):
    """A word."""

    word: Literal["pong"]


@tool
def weather(city: str, days: int) -> str:
    """of a city"""
    return "raining"


def model(name="tandem", **more):
    if VENDOR == "ollama":
        return ChatOllama(base_url=BASE, model=name, **more)
    same = {"model": name, "api_key": "unused", "max_retries": 0, "timeout": 60} | more
    if VENDOR == "anthropic":
        return ChatAnthropic(**{"base_url": BASE, "max_tokens": 1000} | same)
    return ChatOpenAI(base_url=BASE + "/v1", use_responses_api=VENDOR == "responses", **same)


def chat():
    whole = model().invoke("say pong")
    check(whole.text == "pong" and whole.usage_metadata["output_tokens"] > 0, f"{whole}")
    reply = model().invoke([messages.SystemMessage("Be brief."), messages.HumanMessage("say pong"), messages.AIMessage("pong"), messages.HumanMessage("say pong")])
    check(reply.text == "pong" and reply.usage_metadata["input_tokens"] > whole.usage_metadata["input_tokens"], f"{reply}")


def stream():
    more = {"stream_usage": True} if VENDOR == "openai" else {}  # it asks for usage of OpenAI's own server alone
    chunks = list(model(**more).stream("say pong"))
    texts = [c.text for c in chunks if c.text]
    check("".join(texts) == "pong" and len(texts) > 1, f"{chunks}")
    whole = sum(chunks[1:], chunks[0])
    check(whole.usage_metadata["output_tokens"] > 0, f"{whole}")


def calls(answer):
    return [(c["name"], c["args"]) for c in answer.tool_calls]


def tools():
    bound, said = model().bind_tools([weather]), [messages.HumanMessage("What is the weather in Paris?")]
    answer = bound.invoke(said)
    check(calls(answer) == [("weather", {"city": "Paris", "days": 2})], f"{answer}")
    said += [answer, weather.invoke(answer.tool_calls[0])]
    last = bound.invoke(said)
    check(last.text == "In Paris it is raining.", f"{last}")


def tool_stream():
    chunks = list(model().bind_tools([weather]).stream("the weather in Oslo and Rome?"))
    whole = sum(chunks[1:], chunks[0])
    check(calls(whole) == [("weather", {"city": "Oslo", "days": 1}), ("weather", {"city": "Rome", "days": 1})], f"{whole}")
    check(len({c["id"] for c in whole.tool_calls}) == 2, f"{whole}")


def tool_choice():
    for choice in "any", "weather":
        answer = model(max_tokens=400).bind_tools([weather], tool_choice=choice).invoke("call it")
        check(calls(answer) == [("weather", {"city": "Rome", "days": 3})], f"{choice}: {answer}")
    with warnings.catch_warnings():  # about a choice that thinking would rule out
        warnings.simplefilter("ignore")
        forced = model(max_tokens=400).with_structured_output(Word, method="function_calling")
    check(forced.invoke("submit pong as Word") == Word(word="pong"), "a forced call gives no object")


def structured():
    bound = model().with_structured_output(Word, method="json_schema")
    check(bound.invoke("say pong in JSON") == Word(word="pong"), "a schema gives no object")
    last = list(bound.stream("say pong in JSON"))[-1]
    check(last == Word(word="pong"), f"{last}")


def errors():
    # LangChain says in a class of its own that a prompt is too long.
    unknown, bad = {"openai": (openai.NotFoundError, openai.BadRequestError), "responses": (openai.NotFoundError, openai.BadRequestError),
                    "anthropic": (anthropic.NotFoundError, anthropic.BadRequestError), "ollama": (ollama.ResponseError,) * 2}[VENDOR]

    def refused(kind, status, words, m, text="say pong"):
        for ask in m.invoke, lambda t: list(m.stream(t)):
            try:
                ask(text)
            except kind as e:
                check(e.status_code == status and words in str(e), f"{e.status_code} {e}")
                continue
            check(False, f"accepted {text[:20]}")

    refused(unknown, 404, "no-such-model", model("no-such-model"))
    refused(bad, 400, "131072", model(), "a b " * 100_000)
    refused(bad, 400, "temperature", model(temperature=-1))
    if VENDOR != "ollama":
        try:
            model().invoke("a b " * 100_000)
        except Exception as e:
            check(type(e).__name__.endswith("ContextOverflowError"), f"too long a prompt is a {type(e).__name__}")


async def disconnect():
    async def streamed():
        async for _ in model().astream("count slowly"):
            pass

    await given_up(get, streamed)
    await given_up(get, lambda: model().ainvoke("count slowly"))
    for _ in model().stream("count slowly"):
        break  # this closes it
    let_go(get, "a stream")


def tests(vendor):
    global VENDOR
    VENDOR = vendor
    all = {"chat": chat, "chat, streamed": stream, "tools": tools, "tools, streamed and parallel": tool_stream, "tool_choice": tool_choice,
           "JSON schema": structured, "errors": errors, "disconnect": disconnect}
    if VENDOR == "ollama":
        del all["tool_choice"]
    return all


run_each(sys.argv[2:], tests)
