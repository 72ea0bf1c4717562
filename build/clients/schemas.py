"""Lets the pocket model answer by random JSON schemas, and checks the answers with the package jsonschema.

python schemas.py BASE_URL DRAFTER FIRST_SEED

The server has loaded the pocket model. BASE_URL has no /v1, and DRAFTER is none or auto. Each seed makes one schema.
The temperature is 1. At most 5 in 100 answers may end at the length limit, because a model may make a string long.
"""

import json
import random
import sys

import jsonschema
import openai

from checks import check, run

SCHEMAS, TOKENS, CUT = 60, 400, 0.05
DRAFTER, FIRST = sys.argv[2], int(sys.argv[3])
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="unused", max_retries=0, timeout=120)


def schema(r, depth=0):
    """Returns a random schema with short answers: strings, lists and numbers have bounds, and nesting ends."""
    kinds = ["string", "integer", "number", "boolean", "null", "enum", "const", "pattern"]
    kind = r.choice(kinds if depth > 2 else kinds + ["object", "array", "anyOf"] * 2) if depth else "object"
    if kind == "string":
        low = r.randint(0, 3)
        return {"type": "string", "minLength": low, "maxLength": low + r.randint(0, 8)}
    if kind in ("integer", "number"):
        low = r.randint(-1000, 1000)
        return {"type": kind, "minimum": low, "maximum": low + r.randint(1, 5000)}
    if kind == "enum":
        return {"enum": r.sample(["red", "green", "blue", 1, 2.5, None, True], r.randint(1, 4))}
    if kind == "const":
        return {"const": r.choice(["fixed", 7, {"a": [1]}])}
    if kind == "pattern":
        return {"type": "string", "pattern": r.choice(["^[a-z]{1,5}$", "^[0-9]{3}-[0-9]{2}$", "^(yes|no)$"])}
    if kind == "array":
        return {"type": "array", "items": schema(r, depth + 1), "minItems": r.randint(0, 2), "maxItems": r.randint(2, 4)}
    if kind == "anyOf":
        return {"anyOf": [schema(r, depth + 1) for _ in range(r.randint(2, 3))]}
    if kind == "object":
        names = r.sample(["id", "name", "tags", "a b", "größe", "x-1", "value", "_"], r.randint(1, 4))
        return {
            "type": "object", "properties": {n: schema(r, depth + 1) for n in names},
            "required": r.sample(names, r.randint(0, len(names))), "additionalProperties": False,
        }
    return {"type": kind}


def answers():
    cut, wrong, drafted = [], [], 0
    for seed in range(FIRST, FIRST + SCHEMAS):
        s = schema(random.Random(seed))
        answer = client.chat.completions.create(
            model="pocket", messages=[{"role": "user", "content": "Answer in JSON."}], max_tokens=TOKENS, temperature=1, seed=seed,
            response_format={"type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": s}},
            extra_body={"speculation": {"drafter": DRAFTER}},
        )
        choice, drafted = answer.choices[0], drafted + answer.model_extra["timings"]["draft_n"]
        if choice.finish_reason == "length":
            cut.append(seed)
            continue
        try:
            jsonschema.validate(json.loads(choice.message.content), s, jsonschema.Draft202012Validator)
        except (ValueError, jsonschema.ValidationError) as e:
            wrong.append(f"seed {seed}: {e}\n{json.dumps(s)}\n{choice.message.content}")
    print(f"note {drafted} tokens were drafted")
    print(f"note seeds of schemas whose answers were cut by length: {cut or 'none'}")
    check(not wrong, "\n".join(wrong))
    check((drafted > 0) == (DRAFTER != "none"), f"{drafted} tokens were drafted with the drafter {DRAFTER}")
    check(len(cut) <= CUT * SCHEMAS, f"{len(cut)} of {SCHEMAS} were cut by length: {cut}")


run({f"answers by {SCHEMAS} random schemas": answers})
