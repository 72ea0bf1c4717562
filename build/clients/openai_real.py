"""Talks to a running `tandem serve` with the official openai package, as an editor would.

python openai_real.py BASE_URL   (without /v1; the server has loaded the pocket model)

Fails on the first answer that differs from what the OpenAI protocol, or our documented extensions, promise.
"""

import asyncio
import functools
import json
import sys

import openai

from checks import check, in_flight, let_go, run

MODEL = "pocket"
FIM = {"prompt": "func add(a, b int) int {\n\treturn ", "suffix": "\n}\n"}


def models(client):
    listed = list(client.models.list())
    ids = [m.id for m in listed]
    check(ids[0] == "tandem", f"/v1/models begins with {ids[0]}, not with the alias")
    check(MODEL in ids, f"/v1/models lists {ids}, not {MODEL}")
    check(client.models.retrieve(MODEL).context_length == listed[0].context_length, "the alias has another context length")


def chat(client):
    ask = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Write a Go function that adds two numbers."}],
        "max_tokens": 24,
        "temperature": 0,
        "seed": 7,
    }
    whole = client.chat.completions.create(**ask)
    choice = whole.choices[0]
    check(choice.message.role == "assistant", f"role is {choice.message.role}")
    check(choice.finish_reason in ("stop", "length"), f"finish_reason is {choice.finish_reason}")
    check(0 < whole.usage.completion_tokens <= 24, f"usage is {whole.usage}")
    check(
        whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens,
        f"usage does not add up: {whole.usage}",
    )

    text, finish, usage = "", None, None
    for chunk in client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for c in chunk.choices:
            text += c.delta.content or ""
            finish = c.finish_reason or finish
    check(text == choice.message.content, f"streamed {text!r}, whole {choice.message.content!r}")
    check(finish == choice.finish_reason, f"streamed finish_reason is {finish}")
    check(usage is not None and usage.completion_tokens == whole.usage.completion_tokens, f"streamed usage is {usage}")


def fim(client):
    ask = {"model": MODEL, **FIM, "max_tokens": 16, "temperature": 0}
    whole = client.completions.create(**ask).choices[0]
    pieces = [c.choices[0].text for c in client.completions.create(**ask, stream=True) if c.choices]
    check("".join(pieces) == whole.text, f"streamed {''.join(pieces)!r}, whole {whole.text!r}")
    check(FIM["prompt"] not in whole.text, "the completion repeats its prompt")


def seeds(client):
    ask = {"model": MODEL, "prompt": "package main\n", "max_tokens": 16, "temperature": 1, "seed": 11}
    first, second = (client.completions.create(**ask).choices[0].text for _ in range(2))
    check(first == second, f"one seed, two texts: {first!r}, {second!r}")


def logprobs(client):
    choice = client.completions.create(
        model=MODEL, prompt="package ", max_tokens=4, temperature=0, logprobs=2, extra_body={"return_token_ids": True}
    ).choices[0]
    got = choice.logprobs
    ids = choice.model_extra["token_ids"]
    check(len(got.tokens) == len(got.token_logprobs) == len(ids), f"{len(got.tokens)} logprobs for {len(ids)} tokens")
    check(all(p <= 0 for p in got.token_logprobs), f"logprobs above zero: {got.token_logprobs}")

    ask = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 3, "temperature": 0, "extra_body": {"ignore_eos": True}}
    choice = client.chat.completions.create(**ask, logprobs=True, top_logprobs=2).choices[0]
    check(len(choice.logprobs.content) == 3, f"{len(choice.logprobs.content)} chat logprobs for 3 tokens")
    for entry in choice.logprobs.content:
        check(entry.logprob == entry.top_logprobs[0].logprob, f"greedy, yet not the likeliest: {entry}")
        check(entry.top_logprobs[0].logprob >= entry.top_logprobs[1].logprob, f"unsorted: {entry}")


def scoring(client):
    """Asks for the log-probabilities of a prompt of ids, with nothing generated, as evaluation harnesses do."""
    first = client.completions.create(
        model=MODEL, prompt="package main\n", max_tokens=6, temperature=0, logprobs=0, extra_body={"return_token_ids": True}
    ).choices[0]
    ids = first.model_extra["prompt_token_ids"] + first.model_extra["token_ids"]
    scored = client.completions.create(model=MODEL, prompt=ids, max_tokens=0, echo=True, logprobs=1).choices[0].logprobs
    check(len(scored.token_logprobs) == len(ids), f"{len(scored.token_logprobs)} scores for {len(ids)} tokens")
    check(scored.token_logprobs[0] is None, f"the first token has a score: {scored.token_logprobs[0]}")
    n = len(first.model_extra["token_ids"])
    for said, score in zip(first.logprobs.token_logprobs, scored.token_logprobs[-n:]):
        check(abs(said - score) < 1e-3, f"generated with {said}, scored with {score}")


def predictions(client):
    """A predicted output is a draft: it changes the usage, but not the answer."""
    ask = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Write a Go function that adds two numbers."}],
        "max_tokens": 32,
        "temperature": 0,
    }

    def details(usage):
        d = usage.completion_tokens_details
        return d.accepted_prediction_tokens, d.rejected_prediction_tokens

    plain = client.chat.completions.create(**ask, extra_body={"speculation": {"drafter": "none"}, "ignore_eos": True})
    text = plain.choices[0].message.content
    check(details(plain.usage) == (0, 0), f"nothing was predicted: {plain.usage}")
    check(plain.model_extra["timings"]["draft_n"] == 0, f"drafts without a drafter: {plain.model_extra}")
    for content in (text, [{"type": "text", "text": text[:9]}, {"type": "text", "text": text[9:]}]):
        ask["prediction"] = {"type": "content", "content": content}
        ask["extra_body"] = {"speculation": {"drafter": "ngram", "depth": 4}, "return_draft_info": True, "ignore_eos": True}
        whole = client.chat.completions.create(**ask)
        check(whole.choices[0].message.content == text, f"predicted {whole.choices[0].message.content!r}, plainly {text!r}")
        accepted, rejected = details(whole.usage)
        timings, draft = whole.model_extra["timings"], whole.choices[0].model_extra["draft"]
        check(accepted > 0, f"of its own text nothing was accepted: {whole.usage}, {timings}")
        check(draft["proposed"] == timings["draft_n"] == sum(draft["depths"]) >= accepted + rejected, f"{draft}, {timings}")
        check(draft["accepted"] == timings["draft_n_accepted"] == sum(draft["accepts"]) >= accepted, f"{draft}, {timings}")

        streamed, proposed, usage = "", 0, None
        for chunk in client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}):
            usage = chunk.usage or usage
            for c in chunk.choices:
                streamed += c.delta.content or ""
                proposed += c.model_extra["draft"]["proposed"]
        check(streamed == text, f"predicted and streamed {streamed!r}, plainly {text!r}")
        check(details(usage) == (accepted, rejected), f"streamed {usage}, whole {whole.usage}")
        check(proposed == draft["proposed"], f"the chunks tell of {proposed} drafts, the reply of {draft}")


LOOK = {
    "type": "function",
    "name": "look",
    "description": "Looks a word up.",
    "parameters": {"type": "object", "properties": {"word": {"type": "string", "maxLength": 9}}, "required": ["word"], "additionalProperties": False},
    "strict": True,
}


def items(response):
    """Returns the type, status and texts of each item of a response."""
    said = {
        "message": lambda i: [p.text for p in i.content],
        "reasoning": lambda i: [p.text for p in i.content],
        "function_call": lambda i: [i.name, i.arguments],
    }
    return [(i.type, i.status, *said[i.type](i)) for i in response.output]


def streamed(client, **ask):
    """Returns the final response of a stream, and checks the events against it."""
    text, arguments, numbers, final = "", "", [], None
    with client.responses.stream(**ask) as stream:
        for event in stream:
            numbers.append(event.sequence_number)
            if event.type == "response.output_text.delta":
                text += event.delta
            if event.type == "response.function_call_arguments.delta":
                arguments += event.delta
            if event.type in ("response.completed", "response.incomplete"):  # the package ends a stream only at the first
                final = event.response
    check(final is not None, "no last event")
    check(numbers == list(range(len(numbers))), f"events are numbered {numbers}")
    check(text == final.output_text, f"pieces {text!r} of {final.output_text!r}")
    check(arguments == "".join(i.arguments for i in final.output if i.type == "function_call"), f"pieces {arguments!r} of {final.output}")
    return final


def responses(client):
    ask = {"model": MODEL, "input": "Write a Go function that adds two numbers.", "instructions": "Be brief.", "max_output_tokens": 24, "temperature": 0}
    whole = client.responses.create(**ask, metadata={"a": "b"})
    check(whole.status in ("completed", "incomplete") and whole.output_text, f"{whole}")
    check((whole.status == "incomplete") == (whole.incomplete_details is not None), f"{whole.status}, {whole.incomplete_details}")
    usage = whole.usage
    check(0 < usage.output_tokens <= 24 and usage.total_tokens == usage.input_tokens + usage.output_tokens, f"usage is {usage}")
    final = streamed(client, **ask, store=False)
    check(items(final) == items(whole) and final.status == whole.status, f"streamed {final.output}, whole {whole.output}")

    check(client.responses.retrieve(whole.id).output_text == whole.output_text, "a response that is retrieved has another text")
    listed = client.responses.input_items.list(whole.id).data
    check([(i.role, i.content[0].text) for i in listed] == [("user", ask["input"])], f"the input is {listed}")
    more = {"model": MODEL, "max_output_tokens": 8, "temperature": 0}
    second = client.responses.create(**more, input="Now with errors.", previous_response_id=whole.id)
    by_hand = client.responses.create(
        **more,
        store=False,
        input=[{"role": "user", "content": ask["input"]}, *[i.model_dump() for i in whole.output], {"role": "user", "content": "Now with errors."}],
    )
    check(second.previous_response_id == whole.id, f"it goes on from {second.previous_response_id}")
    check((items(second), second.usage.input_tokens) == (items(by_hand), by_hand.usage.input_tokens), f"gone on from {second}, sent again {by_hand}")

    client.responses.delete(whole.id)
    for kind, code, call in (
        (openai.NotFoundError, "response_not_found", lambda: client.responses.retrieve(whole.id)),
        (openai.NotFoundError, "response_not_found", lambda: client.responses.retrieve(by_hand.id)),
        (openai.BadRequestError, "previous_response_not_found", lambda: client.responses.create(**more, input="x", previous_response_id=second.id)),
        (openai.BadRequestError, "invalid_request", lambda: client.responses.cancel(second.id)),
        (openai.BadRequestError, "invalid_request", lambda: client.responses.create(**more, input="x", background=True)),
        (openai.BadRequestError, "context_length_exceeded", lambda: client.responses.create(**more, input="a b " * 100_000, stream=True)),
    ):
        try:
            call()
        except kind as e:
            check(e.code == code, f"code {e.code} instead of {code}: {e}")
        else:
            check(False, f"no {code}")


def response_tools(client):
    ask = {"model": MODEL, "input": [{"role": "user", "content": "What is a mutex?"}], "tools": [LOOK, {"type": "web_search"}], "max_output_tokens": 200, "temperature": 0}
    client.responses.create(**ask | {"max_output_tokens": 8})
    ask["tool_choice"] = "required"
    whole, final = client.responses.create(**ask, parallel_tool_calls=False), streamed(client, **ask, parallel_tool_calls=False)
    check(items(whole) == items(final), f"whole {whole.output}, streamed {final.output}")
    call = whole.output[-1]
    check(call.type == "function_call" and set(json.loads(call.arguments)) == {"word"}, f"the call is {call}")
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "A lock."}
    more = {"model": MODEL, "tools": [LOOK], "max_output_tokens": 8, "temperature": 0}
    answer = client.responses.create(**more, input=[result], previous_response_id=whole.id)
    by_hand = client.responses.create(**more, input=[*ask["input"], *[i.model_dump() for i in whole.output], result], store=False)
    check(items(answer) == items(by_hand), f"gone on from {answer.output}, sent again {by_hand.output}")


def response_format(client):
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["n"], "additionalProperties": False}
    text = {"format": {"type": "json_schema", "name": "number", "schema": schema, "strict": True}}
    answer = client.responses.create(model=MODEL, input="A number.", text=text, max_output_tokens=64, include=["message.output_text.logprobs"], top_logprobs=1)
    check(1 <= json.loads(answer.output_text)["n"] <= 9, f"{answer.output_text!r} is not of the schema")
    scores = answer.output[-1].content[0].logprobs
    check("".join(s.token for s in scores) == answer.output_text and all(len(s.top_logprobs) == 1 for s in scores), f"{scores} of {answer.output_text!r}")


def refusals(client):
    def refused(kind, code, **ask):
        try:
            client.chat.completions.create(**ask)
        except openai.APIStatusError as e:
            check(type(e) is kind, f"{type(e).__name__} instead of {kind.__name__} for {ask}: {e}")
            check(e.code == code and e.body.get("message"), f"code {e.code} instead of {code}: {e.body}")
            check(e.request_id, "no request id")
            return
        check(False, f"accepted {ask}")

    hello = [{"role": "user", "content": "hello"}]
    refused(openai.NotFoundError, "model_not_found", model="no-such-model", messages=hello)
    bad = openai.BadRequestError
    refused(bad, "invalid_request", model=MODEL, messages=[{"role": "nobody", "content": "hello"}])
    refused(bad, "invalid_request", model=MODEL, messages=hello, max_tokens=-7)
    refused(bad, "invalid_request", model=MODEL, messages=[])
    for speculation in ({"drafter": "psychic"}, {"drafter": "mtp"}, {"depth": 32}, {"depth": "x"}, {"dept": 4}, "fast"):
        refused(bad, "invalid_request", model=MODEL, messages=hello, extra_body={"speculation": speculation})
    for prediction in ({"type": "content"}, {"type": "edit", "content": "x"}, {"type": "content", "content": [7]}, "x"):
        refused(bad, "invalid_request", model=MODEL, messages=hello, prediction=prediction)
    long = [{"role": "user", "content": "a b " * 100_000}]
    refused(bad, "context_length_exceeded", model=MODEL, messages=long)
    refused(bad, "context_length_exceeded", model=MODEL, messages=long, stream=True)


def disconnect(client):
    root = str(client.base_url).removesuffix("/v1/")

    def get(path):
        return client._client.get(root + path).text

    ask = {"model": MODEL, "prompt": "package main\n", "max_tokens": 20_000, "extra_body": {"ignore_eos": True}}
    stream = client.completions.create(**ask, stream=True)
    next(iter(stream))
    check(in_flight(get) == 1, f"{in_flight(get)} requests in flight while one streams")
    stream.close()
    let_go(get, "a stream")
    client.completions.create(model=MODEL, prompt="x", max_tokens=1)  # the server goes on answering


async def many(base):
    """Sends 100 requests of one program together. All are answered, and none is sent twice."""
    async with openai.AsyncOpenAI(base_url=base + "/v1", api_key="unused", max_retries=0, timeout=120) as client:
        ask = {"model": MODEL, "max_tokens": 16, "messages": [{"role": "user", "content": "hi"}]}
        answers = await asyncio.gather(*[client.chat.completions.create(**ask, seed=i) for i in range(100)])
    check(all(a.choices[0].finish_reason in ("stop", "length") for a in answers), f"{answers}")


def main(base):
    client = openai.OpenAI(base_url=base + "/v1", api_key="unused", max_retries=0, timeout=120)
    tests = {
        "models": models, "chat": chat, "fill in the middle": fim, "seeds": seeds, "log-probabilities": logprobs,
        "scores of a prompt": scoring, "predicted outputs": predictions,
        "responses": responses, "responses with tools": response_tools, "responses by a schema": response_format,
        "errors": refusals, "disconnect": disconnect,
    }
    run({feature: functools.partial(test, client) for feature, test in tests.items()} | {"100 requests together": functools.partial(many, base)})


if __name__ == "__main__":
    main(sys.argv[1])
