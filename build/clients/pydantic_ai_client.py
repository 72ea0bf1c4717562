"""Talks to a server on the scripted engine (libraries.json) with pydantic-ai.

python pydantic_ai_client.py BASE_URL PROVIDER...   (BASE_URL without /v1; PROVIDER is openai, responses or ollama)

The provider ollama talks to /v1 too. It asks by the name that Ollama's list of models has.
"""

import sys
from typing import Literal

import openai
import pydantic
import pydantic_ai
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.providers.openai import OpenAIProvider

from checks import check, given_up, reader, run_each

BASE = sys.argv[1]
get = reader(BASE)
client = openai.AsyncOpenAI(base_url=BASE + "/v1", api_key="unused", max_retries=0, timeout=60)


class Word(pydantic.BaseModel):
    """A word."""

    word: Literal["pong"]


def agent(name="tandem", **more):
    if PROVIDER == "ollama":
        model = OllamaModel(name + ":latest", provider=OllamaProvider(openai_client=client))
    else:
        model = {"openai": OpenAIChatModel, "responses": OpenAIResponsesModel}[PROVIDER](name, provider=OpenAIProvider(openai_client=client))
    return pydantic_ai.Agent(model, retries=0, **more)


async def ask(text, settings=None, **more):
    return await agent(**more).run(text, model_settings=settings)


async def chat():
    whole = await ask("say pong")
    check(whole.output == "pong" and whole.response.finish_reason == "stop", f"{whole}")
    check(whole.usage.input_tokens > 0 and whole.usage.output_tokens > 0 and whole.usage.requests == 1, f"{whole.usage}")


async def stream():
    async with agent().run_stream("say pong") as result:
        texts = [t async for t in result.stream_text(delta=True, debounce_by=None)]
    check("".join(texts) == "pong" and len(texts) > 1, f"{texts}")


def with_weather(asked, **more):
    a = agent(**more)

    @a.tool_plain
    def weather(city: str, days: int) -> str:
        """of a city"""
        asked.append((city, days))
        return "raining"

    return a


async def tools():
    asked = []
    last = await with_weather(asked).run("What is the weather in Paris?")
    check(last.output == "In Paris it is raining." and asked == [("Paris", 2)], f"{asked} {last}")


async def tool_stream():
    asked, calls = [], []
    async with with_weather(asked).iter("the weather in Oslo and Rome?") as turns:
        async for node in turns:
            if pydantic_ai.Agent.is_model_request_node(node):
                async with node.stream(turns.ctx) as events:
                    async for _ in events:
                        pass
            if pydantic_ai.Agent.is_call_tools_node(node):
                calls = [(p.tool_name, p.args_as_dict()) for p in node.model_response.parts if p.part_kind == "tool-call"]
                break  # the script knows no answer to two results
    check(calls == [("weather", {"city": "Oslo", "days": 1}), ("weather", {"city": "Rome", "days": 1})], f"{calls}")


async def tool_choice():
    """The output is a tool, and the model has to call it."""
    last = await ask("submit pong as final_result", output_type=pydantic_ai.ToolOutput(Word), settings={"max_tokens": 400})
    check(last.output == Word(word="pong"), f"{last}")
    check([p.tool_name for p in last.response.parts if p.part_kind == "tool-call"] == ["final_result"], f"{last.response}")


async def structured():
    last = await ask("say pong in JSON", output_type=pydantic_ai.NativeOutput(Word), settings={"max_tokens": 400})
    check(last.output == Word(word="pong"), f"{last}")


async def errors():
    async def refused(status, words, text="say pong", **more):
        try:
            await ask(text, **more)
        except pydantic_ai.ModelHTTPError as e:
            check(e.status_code == status and words in str(e.body), f"{e.status_code} {e.body}")
            return
        check(False, f"accepted {more}")

    await refused(404, "no-such-model", name="no-such-model")
    await refused(400, "131072", "a b " * 100_000)
    await refused(400, "temperature", settings={"temperature": -1})


async def disconnect():
    async def begin():
        async with agent().run_stream("count slowly") as result:
            async for _ in result.stream_text():
                pass

    await given_up(get, begin)
    await given_up(get, lambda: agent().run("count slowly"))


def tests(provider):
    global PROVIDER
    PROVIDER = provider
    return {"chat": chat, "chat, streamed": stream, "tools": tools, "tools, streamed and parallel": tool_stream, "tool_choice": tool_choice,
            "JSON schema": structured, "errors": errors, "disconnect": disconnect}


run_each(sys.argv[2:], tests)
