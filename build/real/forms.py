"""Checks that the starter answers in the forms that are asked for: random JSON schemas, and forced calls of tools.

python forms.py BASE_URL
"""

import json
import random
import sys

import jsonschema

from checks import check, run
from random_schemas import schema
from starter import Server, together

server = Server(sys.argv[1])
SCHEMAS, CALLS, TOKENS = 100, 20, 800


def valid(text, form, what):
    try:
        jsonschema.validate(json.loads(text), form, cls=jsonschema.Draft202012Validator)
    except (ValueError, jsonschema.ValidationError) as e:
        raise SystemExit(f"{what}: {text!r} does not fit {json.dumps(form)}: {e}") from None


def schemas():
    def ask(seed):
        form = schema(random.Random(seed))
        return form, server.chat(
            [{"role": "user", "content": "Answer in JSON."}], temperature=0.8, seed=seed, max_tokens=TOKENS,
            response_format={"type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": form}},
        )

    for seed, (form, said) in enumerate(together(ask, range(SCHEMAS))):
        check(said["finish_reason"] == "stop", f"schema {seed}: ended by {said['finish_reason']}: {said['message']['content']!r}")
        valid(said["message"]["content"], form, f"schema {seed}")


def calls():
    def ask(seed):
        r = random.Random(1000 + seed)
        tools = [{"type": "function", "function": {"name": name, "parameters": schema(r)}} for name in ("look_up", "set_timer", "send_note")]
        tool = r.choice(tools)["function"]
        return tool, server.chat(
            [{"role": "user", "content": "Use the tool for this: remind me of the bread in ten minutes."}], temperature=0.8, seed=seed, max_tokens=TOKENS,
            tools=tools, tool_choice={"type": "function", "function": {"name": tool["name"]}},
        )

    for seed, (tool, said) in enumerate(together(ask, range(CALLS))):
        made = said["message"].get("tool_calls") or []
        check([c["function"]["name"] for c in made] == [tool["name"]], f"call {seed}: {said['message']}, {said['finish_reason']}")
        valid(made[0]["function"]["arguments"], tool["parameters"], f"call {seed}")


run({f"{SCHEMAS} JSON schemas are followed, by eight clients at once": schemas, f"{CALLS} forced calls fit their tools": calls})
