"""Talks to a server on the scripted engine (libraries.json) with openai-agents.

python agents_client.py BASE_URL ROUTE...   (BASE_URL without /v1; ROUTE is chat or responses)
"""

import asyncio
import sys
from typing import Literal

import agents
import openai
import pydantic

from checks import check, given_up, in_flight, let_go, reader, run_each

BASE = sys.argv[1]
get = reader(BASE)
agents.set_tracing_disabled(True)  # a trace goes to OpenAI
MODELS = {"chat": agents.OpenAIChatCompletionsModel, "responses": agents.OpenAIResponsesModel}
client = openai.AsyncOpenAI(base_url=BASE + "/v1", api_key="unused", max_retries=0, timeout=60)
asked = []  # arguments of each call of the tool


class Word(pydantic.BaseModel):
    word: Literal["pong"]


class Report(pydantic.BaseModel):
    word: Literal["raining"]


@agents.function_tool
def weather(city: str, days: int) -> str:
    """of a city"""
    asked.append((city, days))
    return "raining"


def agent(model="tandem", **more):
    return agents.Agent(name="tester", model=MODELS[ROUTE](model=model, openai_client=client), **more)


async def ask(text, **more):
    return await agents.Runner.run(agent(**more), text, max_turns=3)


async def chat():
    whole = await ask("say pong")
    check(whole.final_output == "pong" and len(whole.raw_responses) == 1, f"{whole}")
    check(whole.raw_responses[0].usage.output_tokens > 0, f"{whole.raw_responses}")


async def stream():
    result, texts = agents.Runner.run_streamed(agent(), "say pong"), []
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            texts.append(event.data.delta)
    check("".join(texts) == "pong" and len(texts) > 1 and result.final_output == "pong", f"{texts} {result}")


async def tools():
    asked.clear()
    last = await ask("What is the weather in Paris?", tools=[weather])
    check(last.final_output == "In Paris it is raining." and asked == [("Paris", 2)], f"{asked} {last}")


async def tool_stream():
    asked.clear()
    result = agents.Runner.run_streamed(agent(tools=[weather], tool_use_behavior="stop_on_first_tool"), "the weather in Oslo and Rome?")
    names = [e.name async for e in result.stream_events() if e.type == "run_item_stream_event"]
    check(sorted(asked) == [("Oslo", 1), ("Rome", 1)], f"{asked}")
    check(names.count("tool_called") == names.count("tool_output") == 2, f"{names}")


async def tool_choice():
    for choice in "required", "weather":
        asked.clear()
        last = await ask("call it", tools=[weather], model_settings=agents.ModelSettings(tool_choice=choice, max_tokens=400))
        check(last.final_output == "In Rome it is raining." and asked == [("Rome", 3)], f"{choice}: {asked} {last}")


async def structured():
    last = await ask("say pong in JSON", output_type=Word)
    check(last.final_output == Word(word="pong"), f"{last}")


async def structured_tools():
    """The answer has a form, and before it a tool has to be called."""
    for choice in "required", "weather":
        asked.clear()
        last = await ask("call it", tools=[weather], output_type=Report, model_settings=agents.ModelSettings(tool_choice=choice, max_tokens=400))
        check(last.final_output == Report(word="raining") and asked == [("Rome", 3)], f"{choice}: {asked} {last}")


async def errors():
    async def refused(kind, code, text="say pong", **more):
        try:
            await ask(text, **more)
        except openai.APIStatusError as e:
            check(type(e) is kind and e.code == code and e.request_id, f"{type(e).__name__} {e.code}: {e}")
            return
        check(False, f"accepted {more}")

    await refused(openai.NotFoundError, "model_not_found", model="no-such-model")
    await refused(openai.BadRequestError, "context_length_exceeded", "a b " * 100_000)
    await refused(openai.BadRequestError, "invalid_request", model_settings=agents.ModelSettings(temperature=-1))


async def disconnect():
    result = agents.Runner.run_streamed(agent(), "count slowly")
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            break
    check(in_flight(get) == 1, f"{in_flight(get)} requests in flight while one streams")
    result.cancel()
    await asyncio.to_thread(let_go, get, "a stream")
    await given_up(get, lambda: agents.Runner.run(agent(), "count slowly"))


def tests(route):
    global ROUTE
    ROUTE = route
    return {"chat": chat, "chat, streamed": stream, "tools": tools, "tools, streamed and parallel": tool_stream, "tool_choice": tool_choice,
            "JSON schema": structured, "a forced tool, then a JSON schema": structured_tools, "errors": errors, "disconnect": disconnect}


run_each(sys.argv[2:], tests)
