"""Lets lm-eval score texts by the pocket model, as it does with any server of completions. Compares the scores with the
model's log-probabilities of the same tokens, asked for one text at a time.

python scores.py BASE_URL MODEL OUT   (BASE_URL without /v1; MODEL is the folder of the pocket model, whose tokenizer
lm-eval takes; OUT gets the scored tokens, for scores_direct.py)
"""

import json
import os
import sys

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import lm_eval  # noqa: E402
import requests  # noqa: E402

from checks import check, run  # noqa: E402

BASE, FOLDER, OUT = sys.argv[1:]
URL, MODEL, WINDOW = BASE + "/v1/completions", "pocket", 256


def completion(**ask):
    answer = requests.post(URL, json={"model": MODEL, "temperature": 0} | ask, timeout=120)
    check(answer.ok, f"{ask}: {answer.status_code} {answer.text}")
    return answer.json()["choices"][0]


def ids(text):
    return completion(prompt=text, max_tokens=0, return_token_ids=True)["prompt_token_ids"]


GREEDY = "func main() {\n\tfmt"  # the model goes on with one of the choices
CHOICES = [
    {"text": "package", "choices": [" main", " fmt", " banana soup"], "gold": 0},
    {"text": "func add(a, b int) int {\n\treturn", "choices": [" a + b", " a - b", " nil", "\n\n\n"], "gold": 0},
    {"text": "for i := 0; i < n; i++ {\n\tsum += ", "choices": ["i", "values[i]", "größe", "😀"], "gold": 1},
    {"text": "if err != nil {\n", "choices": ["\treturn err\n}", "\tpanic(err)\n}", "}"], "gold": 0},
    {"text": "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n", "choices": ["Hello<|im_end|>", "func main() {}"], "gold": 0},
    {"text": GREEDY, "choices": [completion(prompt=GREEDY, max_tokens=4)["text"], "x"], "gold": 0},
]
ROLLING = [
    {"text": "package main\n"},
    {"text": "x"},
    {"text": "".join(f"// Sum{i} adds {i} numbers.\nfunc Sum{i}(values []int) (sum int) {{\n\tfor _, v := range values {{\n\t\tsum += v * {i}\n\t}}\n\treturn sum\n}}\n\n" for i in range(12))},
]
TEXTS = [{"text": "func add(a, b int) int {\n"}, {"text": "package main\n\nimport "}]


def dataset(name, rows):
    """Writes a task's data to a file, so that nothing is fetched, and returns the settings that name it."""
    with open(name + ".jsonl", "w") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    return {"task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": os.path.abspath(name + ".jsonl")}}, "test_split": "test"}


TASKS = [
    dataset("choices", CHOICES)
    | {
        "output_type": "multiple_choice", "doc_to_text": "{{text}}", "doc_to_choice": "choices", "doc_to_target": "gold", "target_delimiter": "", "metric_list": [{"metric": "acc"}],
    },
    dataset("rolling", ROLLING) | {"output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{text}}", "metric_list": [{"metric": "bits_per_byte"}]},
    dataset("texts", TEXTS)
    | {
        "output_type": "generate_until", "doc_to_text": "{{text}}", "doc_to_target": "", "metric_list": [{"metric": "bypass"}],
        "generation_kwargs": {"until": ["\n\n"], "max_gen_toks": 24, "temperature": 0, "do_sample": False},
    },
]


def evaluate(batch, concurrent):
    """Returns lm-eval's report for each task: its requests, and the scores that it read from the answers."""
    results = lm_eval.simple_evaluate(
        model="local-completions",
        model_args={"model": MODEL, "base_url": URL, "tokenizer": FOLDER, "max_length": WINDOW, "num_concurrent": concurrent, "max_retries": 1},
        tasks=[dict(t) for t in TASKS], batch_size=batch, bootstrap_iters=0, log_samples=True,
    )
    return {
        name: [(list(args), resp[0]) for s in sorted(samples, key=lambda s: s["doc_id"]) for args, resp in zip(s["arguments"], s["resps"], strict=True)]
        for name, samples in results["samples"].items()
    }, results["results"]


scored = []  # for scores_direct.py


def score(tokens, context):
    """Returns the sum of the log-probabilities after the first context tokens, and whether each token is the likeliest."""
    said = completion(prompt=tokens, max_tokens=0, echo=True, logprobs=1)["logprobs"]
    check(len(said["token_logprobs"]) == len(tokens), f"{len(said['token_logprobs'])} scores for {len(tokens)} tokens")
    values = said["token_logprobs"][context:]
    greedy = all(v == max(top.values()) for v, top in zip(values, said["top_logprobs"][context:], strict=True))
    scored.append({"ids": tokens, "context": context, "score": sum(values), "greedy": greedy})
    return sum(values), greedy


def pair(context, continuation):
    """Returns the score of the tokens after the context without its last spaces. Both texts are tokenized together. The
    context is as many tokens as it has alone, even if a token at the seam differs."""
    before = ids(context.rstrip())
    return score(before + ids(context + continuation)[len(before) :], len(before))


def windows(text):
    """Returns the score of a text, in pieces that fit into the window with the tokens before them. The first piece follows
    the model's end token, because there is no token for a beginning. The last piece has as many tokens before it as fit."""
    tokens, most, total = ids(text), WINDOW - 2, 0.0
    for start in range(0, len(tokens), most):
        piece = tokens[start : start + most]
        before = tokens[max(0, start + len(piece) - most - 1) : start] if start else ids("<|endoftext|>")
        total += score(before + piece, len(before))[0]
    return total


sent = []  # bodies of lm-eval's requests
post = requests.post


def recorded(url, **more):
    sent.append(more["json"])
    return post(url, **more)


found = {}


def one_by_one():
    requests.post = recorded
    try:
        found["samples"], found["results"] = evaluate(1, 1)
    finally:
        requests.post = post
    check(len(sent) >= 18 + 5 + 2, f"{len(sent)} requests")
    for body in sent:
        lists = body["prompt"]
        check(isinstance(lists, list) and all(isinstance(one, list) and one and all(isinstance(i, int) for i in one) for one in lists), f"the prompt is no list of lists of ids: {lists!r}")
    check(sum(body.get("echo", False) for body in sent) == len(sent) - len(TEXTS), f"not all of {len(sent)} requests but the {len(TEXTS)} completions ask for an echo")


def choices():
    samples = found["samples"]["choices"]
    check(len(samples) == sum(len(c["choices"]) for c in CHOICES), f"{len(samples)} continuations")
    for (context, continuation), (value, greedy) in samples:
        want = pair(context, continuation)
        check((value, greedy) == want, f"{context!r}, {continuation!r}: lm-eval has {value!r} {greedy}, the model {want}")
    check([greedy for (context, _), (_, greedy) in samples if context == GREEDY] == [True, False], "the model's own continuation does not count as the likeliest")


def rolling():
    samples = found["samples"]["rolling"]
    check(len(samples) == len(ROLLING), f"{len(samples)} texts")
    nats = 0
    for doc, (_, value) in zip(ROLLING, samples, strict=True):
        want = windows(doc["text"])
        check(abs(value - want) <= 1e-9 * abs(want), f"{doc['text'][:40]!r}: lm-eval has {value!r}, the model {want!r}")
        nats -= value
    bits = nats / sum(len(doc["text"].encode()) for doc in ROLLING) / 0.6931471805599453
    check(abs(bits - found["results"]["rolling"]["bits_per_byte,none"]) < 1e-9, f"{found['results']['rolling']}, want {bits}")


def texts():
    for doc, (_, text) in zip(TEXTS, found["samples"]["texts"], strict=True):
        want = completion(prompt=doc["text"], max_tokens=24, stop=["\n\n", "<|endoftext|>"])["text"]
        check(text == want and want, f"{doc['text']!r}: lm-eval has {text!r}, the model {want!r}")


def together():
    """Checks that texts score the same alone, with several texts in a request, and with several requests at once."""
    for batch, concurrent in ((4, 1), (1, 4)):
        samples, _ = evaluate(batch, concurrent)
        check(samples == found["samples"], f"{batch} at a time, {concurrent} at once: {samples}, alone {found['samples']}")


run({"token ids as prompts": one_by_one, "choices scored": choices, "texts scored in windows": rolling, "completions": texts, "several texts at once": together})
with open(OUT, "w") as f:
    json.dump(scored, f)
