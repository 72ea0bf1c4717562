"""Talks to a server on the scripted engine (libraries.json) with instructor.

python instructor_client.py BASE_URL   (without /v1)

Every answer of instructor is an object. Its modes are ways to ask for one: a forced call, a schema, or words in the prompt.
"""

import logging
import sys
from collections.abc import Iterable
from typing import Literal

import instructor
import openai
import pydantic
from instructor import Mode
from instructor.core import InstructorRetryException

from checks import check, given_up, reader, run

BASE = sys.argv[1]
get = reader(BASE)
logging.disable(logging.ERROR)  # it logs each error that it raises
plain = openai.OpenAI(base_url=BASE + "/v1", api_key="unused", max_retries=0, timeout=60)
unhurried = openai.AsyncOpenAI(base_url=BASE + "/v1", api_key="unused", max_retries=0, timeout=60)


class Word(pydantic.BaseModel):
    """A word."""

    word: Literal["pong"]


class weather(pydantic.BaseModel):
    """of a city"""

    city: str
    days: int


def question(text, **more):
    return {"model": "tandem", "messages": [{"role": "user", "content": text}], "max_retries": 0, "max_tokens": 400} | more


def asker(mode, client=plain):
    return instructor.from_openai(client, mode=mode)


def chat():
    whole = asker(Mode.TOOLS).create(response_model=None, **question("say pong"))
    check(whole.choices[0].message.content == "pong", f"{whole}")


def stream():
    for mode, text in (Mode.TOOLS, "submit pong as Word"), (Mode.JSON_SCHEMA, "say pong in JSON"):
        parts = list(asker(mode).create_partial(response_model=Word, **question(text)))
        check(len(parts) > 1 and parts[-1].word == "pong", f"{mode}: {parts}")


def tools():
    """The model may call tools, and calls two."""
    got = list(asker(Mode.PARALLEL_TOOLS).create(response_model=Iterable[weather], **question("the weather in Oslo and Rome?")))
    check(got == [weather(city="Oslo", days=1), weather(city="Rome", days=1)], f"{got}")


def tool_choice():
    for mode in Mode.TOOLS, Mode.RESPONSES_TOOLS:
        word, whole = asker(mode).create_with_completion(response_model=Word, **question("submit pong as Word"))
        check(word.word == "pong", f"{mode}: {word} {whole}")


def structured():
    for mode in Mode.JSON_SCHEMA, Mode.JSON:
        word = asker(mode).create(response_model=Word, **question("say pong in JSON"))
        check(word.word == "pong", f"{mode}: {word}")
    ollama = instructor.from_provider("ollama/tandem:latest", base_url=BASE + "/v1", mode=Mode.JSON)
    word = ollama.create(response_model=Word, **(question("say pong in JSON") | {"model": "tandem:latest"}))
    check(word.word == "pong", f"{word}")


def errors():
    def refused(kind, code, text="submit pong as Word", **more):
        try:
            asker(Mode.TOOLS).create(response_model=Word, **question(text, **more))
        except InstructorRetryException as e:
            cause = e.__cause__
            while cause is not None and not isinstance(cause, openai.APIStatusError):
                cause = cause.__cause__
            check(type(cause) is kind and cause.code == code, f"{cause!r} of {e!r}")
            return
        check(False, f"accepted {more}")

    refused(openai.NotFoundError, "model_not_found", model="no-such-model")
    refused(openai.BadRequestError, "context_length_exceeded", "a b " * 100_000)
    refused(openai.BadRequestError, "invalid_request", temperature=-1)


async def disconnect():
    tools, free = asker(Mode.TOOLS, unhurried), asker(Mode.PARALLEL_TOOLS, unhurried)
    await given_up(get, lambda: free.create(response_model=None, **question("count slowly")))

    async def streamed():
        async for _ in await tools.create(response_model=None, stream=True, **question("count slowly")):
            pass

    await given_up(get, streamed)


run({"chat": chat, "chat, streamed": stream, "tools": tools, "tool_choice": tool_choice, "JSON schema": structured,
     "errors": errors, "disconnect": disconnect})
