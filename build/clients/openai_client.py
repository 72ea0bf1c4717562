"""Talks to a running `tandem serve` with the official openai package, as an editor would.

python openai_client.py BASE_URL   (without /v1; the server has loaded the pocket model)

Fails on the first answer that differs from what the OpenAI protocol, or our documented extensions, promise.
"""

import re
import sys
import time

import openai

MODEL = "pocket"
FIM = {"prompt": "func add(a, b int) int {\n\treturn ", "suffix": "\n}\n"}


def check(condition, what):
    if not condition:
        raise SystemExit(f"openai client: {what}")


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
    """What evaluation harnesses do: the log-probabilities of a prompt given as ids, and nothing generated."""
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
    """A predicted output is a draft: it changes what the usage says, and no word of the answer."""
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
    refused(bad, "invalid_request", model=MODEL, messages=hello, max_tokens=-1)
    refused(bad, "invalid_request", model=MODEL, messages=[])
    for speculation in ({"drafter": "psychic"}, {"drafter": "mtp"}, {"depth": 32}, {"depth": "x"}, {"dept": 4}, "fast"):
        refused(bad, "invalid_request", model=MODEL, messages=hello, extra_body={"speculation": speculation})
    for prediction in ({"type": "content"}, {"type": "edit", "content": "x"}, {"type": "content", "content": [7]}, "x"):
        refused(bad, "invalid_request", model=MODEL, messages=hello, prediction=prediction)
    long = [{"role": "user", "content": "a b " * 100_000}]
    refused(bad, "context_length_exceeded", model=MODEL, messages=long)
    refused(bad, "context_length_exceeded", model=MODEL, messages=long, stream=True)


def in_flight(client):
    text = client._client.get(str(client.base_url).removesuffix("v1/") + "metrics").text
    return float(re.search(r"^tandem_requests_in_flight (\S+)$", text, re.M)[1])


def disconnect(client):
    ask = {"model": MODEL, "prompt": "package main\n", "max_tokens": 20_000, "extra_body": {"ignore_eos": True}}
    stream = client.completions.create(**ask, stream=True)
    next(iter(stream))
    check(in_flight(client) == 1, f"{in_flight(client)} requests in flight while one streams")
    stream.close()
    for _ in range(100):
        if in_flight(client) == 0:
            break
        time.sleep(0.1)
    check(in_flight(client) == 0, "the request goes on after its client left")
    client.completions.create(model=MODEL, prompt="x", max_tokens=1)  # the server answers on


def main(base):
    client = openai.OpenAI(base_url=base + "/v1", api_key="unused", max_retries=0, timeout=120)
    for test in (models, chat, fim, seeds, logprobs, scoring, predictions, refusals, disconnect):
        test(client)
        print(f"ok    {test.__name__}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
