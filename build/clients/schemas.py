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
from random_schemas import schema

SCHEMAS, TOKENS, CUT = 60, 400, 0.05
DRAFTER, FIRST = sys.argv[2], int(sys.argv[3])
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="unused", max_retries=0, timeout=120)


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
