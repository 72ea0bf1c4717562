"""Talks to a running `tandem serve` with the official openai package, as an editor would.

python openai_client.py BASE_URL   (without /v1; the server has loaded the pocket model)

Fails on the first answer that differs from what the OpenAI protocol, or our documented extensions, promise.
"""

import sys

import openai

MODEL = "pocket"
FIM = {"prompt": "func add(a, b int) int {\n\treturn ", "suffix": "\n}\n"}


def check(condition, what):
    if not condition:
        raise SystemExit(f"openai client: {what}")


def models(client):
    ids = [m.id for m in client.models.list()]
    check(MODEL in ids, f"/v1/models lists {ids}, not {MODEL}")


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


def refusals(client):
    def refused(status, **ask):
        try:
            client.chat.completions.create(**ask)
        except openai.APIStatusError as e:
            check(e.status_code == status, f"status {e.status_code} instead of {status} for {ask}: {e}")
            check(e.body and e.body.get("message"), f"no message in {e.body}")
            return
        check(False, f"accepted {ask}")

    hello = [{"role": "user", "content": "hello"}]
    refused(404, model="no-such-model", messages=hello)
    refused(400, model=MODEL, messages=[{"role": "nobody", "content": "hello"}])
    refused(400, model=MODEL, messages=hello, max_tokens=-1)
    refused(400, model=MODEL, messages=[])


def disconnect(client):
    ask = {"model": MODEL, "prompt": "package main\n", "max_tokens": 2000, "extra_body": {"ignore_eos": True}}
    stream = client.completions.create(**ask, stream=True)
    next(iter(stream))
    stream.close()
    client.completions.create(model=MODEL, prompt="x", max_tokens=1)  # the server answers on


def main(base):
    client = openai.OpenAI(base_url=base + "/v1", api_key="unused", max_retries=0, timeout=120)
    for test in (models, chat, fim, seeds, logprobs, refusals, disconnect):
        test(client)
        print(f"ok    {test.__name__}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
