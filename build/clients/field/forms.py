"""Schemas, forced calls and tools as clients send them, to the pocket model."""

import json
import re

from bodies import CHAT, HI, MESSAGES, OLLAMA, ONE, RESPONSES, SHORT, called, form, ok, refused, said, told, tool
from checks import expect, want

# Schemas

for schema, digits in (
    ({"enum": [9007199254740993]}, "9007199254740993"),
    ({"const": -12345678901234567890123}, "-12345678901234567890123"),
    ({"type": "integer", "minimum": 9007199254740993, "maximum": 9007199254740993}, "9007199254740993"),
):

    @expect("w3", "a number of a form keeps its digits, or is refused", f"response_format, strict, {schema}", "pocket")
    def _(s, schema=schema, digits=digits):
        answer = s.chat(response_format=form(schema, strict=True), max_tokens=60)
        want(answer.status == 400 or said(answer).strip() == digits, told(answer))
        return told(answer)


@expect("w3", "a number of a forced call keeps its digits, or is refused", 'tool with "id":{"enum":[2512292042121000001]}', "pocket")
def _(s):
    schema = {"type": "object", "properties": {"id": {"enum": [2512292042121000001]}}, "required": ["id"], "additionalProperties": False}
    answer = s.chat(tools=[tool(schema)], tool_choice="required", max_tokens=120)
    came = answer.text if answer.status == 400 else called(answer)
    want(answer.status == 400 or "2512292042121000001" in came, came)
    return came


for choice in "required", {"type": "function", "function": {"name": "w"}}:
    for wanted in {"type": "json_object"}, form(ONE, strict=True):

        @expect(
            "w4", "a forced call comes though the body asks for JSON", f"tool_choice {json.dumps(choice)}, response_format {wanted['type']}", "pocket"
        )
        def _(s, choice=choice, wanted=wanted):
            return called(s.chat(tools=[tool(ONE)], tool_choice=choice, response_format=wanted, max_tokens=120))


@expect("w4", "a forced call comes though the body asks for JSON", f"POST {RESPONSES}, tool_choice required, text.format json_object", "pocket")
def _(s):
    answer = ok(
        s.post(
            RESPONSES,
            {
                "model": "tandem",
                "input": "hi",
                "max_output_tokens": 120,
                "temperature": 0,
                "tool_choice": "required",
                "text": {"format": {"type": "json_object"}},
                "tools": [{"type": "function", "name": "w", "parameters": ONE}],
            },
        )
    )
    want({i["type"] for i in answer.json["output"]} == {"function_call"}, f"{answer}")
    return answer.json["output"][0]["arguments"]


@expect("w4", "a forced call comes though the body asks for JSON", f"POST {MESSAGES}, tool_choice any, output_config.format", "pocket")
def _(s):
    answer = ok(
        s.post(
            MESSAGES,
            {
                "model": "tandem",
                "messages": HI,
                "max_tokens": 120,
                "temperature": 0,
                "tool_choice": {"type": "any"},
                "output_config": {"format": {"type": "json_schema", "schema": ONE}},
                "tools": [{"name": "w", "input_schema": ONE}],
            },
        )
    )
    want({b["type"] for b in answer.json["content"]} == {"tool_use"}, f"{answer}")
    return json.dumps(answer.json["content"])


@expect("w4", "a forced call comes though the body asks for JSON", f"POST {OLLAMA}, tool_choice required, format json", "pocket")
def _(s):
    answer = ok(
        s.post(
            OLLAMA,
            SHORT[OLLAMA] | {"format": "json", "tools": [tool(ONE)], "tool_choice": "required", "options": {"num_predict": 120, "temperature": 0}},
        )
    )
    want(answer.json["message"].get("tool_calls"), f"{answer}")
    return json.dumps(answer.json["message"])


LOOSE = {
    "a pattern with lookahead": {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$"}]},
    "a $ref that leads nowhere": {"$ref": "#/definitions/nowhere"},
    '"type": "any"': {"type": "any"},
    '"required": null': {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": None},
}
for what, part in LOOSE.items():
    schema = {"type": "object", "properties": {"a": part}, "required": ["a"]}

    @expect("w5", "what a form that is not strict cannot have is left out", f"response_format with {what}", "pocket")
    def _(s, schema=schema):
        return f"{ok(s.chat(response_format=form(schema))).status}"

    @expect("w5", "what a form that is not strict cannot have is left out", f"forced tool with {what}", "pocket")
    def _(s, schema=schema):
        return f"{ok(s.chat(tools=[tool(schema)], tool_choice='required')).status}"

    @expect("w5", "what a strict form cannot have is refused", f"response_format, strict, with {what}", "pocket")
    def _(s, schema=schema):
        return refused(s.chat(response_format=form(schema, strict=True)))


for name, reference in (
    ("Partial<Foo>", "#/definitions/Partial%3CFoo%3E"),
    ("a/b~c", "#/definitions/a~1b~0c"),
    ("ü", "#/definitions/%C3%BC"),
    ("100%", "#/definitions/100%25"),
):

    @expect("w6", "a $ref is a URI fragment that holds a JSON Pointer", f'{{"$ref": "{reference}"}}', "pocket")
    def _(s, name=name, reference=reference):
        content = said(s.chat(response_format=form({"$ref": reference, "definitions": {name: ONE}}, strict=True), max_tokens=60))
        want(json.loads(content) == {"a": "x"}, content)
        return content


@expect("w14", "a schema that names properties is an object's", 'schema {"properties":{"a":{"type":"boolean"}},"required":["a"]}', "pocket")
def _(s):
    content = said(s.chat(response_format=form({"properties": {"a": {"type": "boolean"}}, "required": ["a"]}), max_tokens=60))
    want(re.match(r'\s*\{\s*"a"\s*:\s*(true|false)\b', content), content)  # the toy adds more
    return content


@expect("w15", "the schema of a json_object is honoured", f'POST {CHAT}, {{"type":"json_object","schema":...}}', "pocket")
def _(s):
    content = said(s.chat(response_format={"type": "json_object", "schema": ONE}, max_tokens=60))
    want(json.loads(content) == {"a": "x"}, content)
    return content


@expect("w15", "response_format on responses is refused and says where it belongs", f"POST {RESPONSES}, response_format", "pocket")
def _(s):
    return refused(s.post(RESPONSES, SHORT[RESPONSES] | {"response_format": {"type": "json_object"}}), "text.format")


PATTERNS = (
    {"type": "object", "properties": {"ab": {"type": "integer"}}, "patternProperties": {"^a": {"type": "string"}}, "required": ["ab"]},
    {"type": "object", "properties": {"ab": {"type": "string"}}, "patternProperties": {"^a": {"type": "string", "minLength": 3}}, "required": ["ab"]},
    {"type": "object", "properties": {"ab": {"type": "string"}}, "patternProperties": {"^a": {"type": "string"}}, "additionalProperties": False},
    {"type": "object", "properties": {"ab": {"enum": ["x"]}}, "patternProperties": {"^ab$": {"enum": ["y"]}}},
    {"type": "object", "patternProperties": {"^a": {"type": "string"}, "b$": {"type": "integer"}}, "properties": {"ab": True}, "required": ["ab"]},
)
for schema in PATTERNS:
    for strict in False, True:

        @expect("w18", "a form that cannot be kept is refused before the stream", f"stream, strict {strict}, {json.dumps(schema)}", "pocket")
        def _(s, schema=schema, strict=strict):
            ends = set()
            for seed in range(3):
                answer = s.chat(response_format=form(schema, strict=strict), stream=True, max_tokens=40, temperature=1, seed=seed)
                want(answer.status == 400 or answer.status == 200 and not any("error" in e for e in answer.events()), f"{answer}")
                ends.add(answer.status)
            return f"{ends}"


for what, part in (
    ("an unknown type", {"type": "nonsense"}),
    ("overlapping oneOf", {"oneOf": [{"type": "string"}, {"type": "string", "minLength": 2}]}),
    ("a bad pattern", {"type": "string", "pattern": "("}),
):

    @expect("w19", "the refusal of a tool's schema names tool, path and remedy", f"strict tool weather whose property city has {what}", "pocket")
    def _(s, part=part):
        schema = {"type": "object", "properties": {"city": part}, "required": ["city"], "additionalProperties": False}
        text = refused(
            s.chat(
                tools=[tool(ONE, "other"), tool(schema, "weather", strict=True)], tool_choice={"type": "function", "function": {"name": "weather"}}
            ),
            "weather",
            "city",
        )
        want("coerce_one_of" not in text and "start:" not in text and len(text) < 700, text)
        return text


# Calls

CUT = {"type": "object", "properties": {"text": {"type": "string", "minLength": 400}}, "required": ["text"]}
LONG = "look_up_all_the_words_that_the_text_of_the_question_does_not_have"  # a call is cut within the name, too
for limit in 1, 4, 12, 25, 40:
    for stream in False, True:

        @expect("w12", "a begun call is no text", f"POST {CHAT}, forced call, max_tokens {limit}, stream {stream}", "pocket")
        def _(s, limit=limit, stream=stream):
            answer = ok(s.chat(tools=[tool(CUT, LONG)], tool_choice="required", max_tokens=limit, stream=stream))
            choices = [c for e in (answer.events() if stream else [answer.json]) for c in e["choices"]]
            text = "".join((c.get("message") or c["delta"]).get("content") or "" for c in choices)
            ends = [c["finish_reason"] for c in choices if c["finish_reason"]]
            want(not text and ends == ["length"], f"{text!r} {ends}")
            return f"{text!r} {ends}"

    @expect("w12", "a begun call is no text", f"POST {MESSAGES}, tool_choice any, max_tokens {limit}", "pocket")
    def _(s, limit=limit):
        answer = ok(
            s.post(
                MESSAGES,
                {
                    "model": "tandem",
                    "messages": HI,
                    "max_tokens": limit,
                    "temperature": 0,
                    "tool_choice": {"type": "any"},
                    "tools": [{"name": LONG, "input_schema": CUT}],
                },
            )
        )
        want(not any(b["type"] == "text" and b["text"] for b in answer.json["content"]) and answer.json["stop_reason"] == "max_tokens", f"{answer}")
        return json.dumps(answer.json["content"])

    @expect("w12", "a begun call is no text", f"POST {RESPONSES}, tool_choice required, max_output_tokens {limit}", "pocket")
    def _(s, limit=limit):
        answer = ok(
            s.post(
                RESPONSES,
                {
                    "model": "tandem",
                    "input": "hi",
                    "max_output_tokens": limit,
                    "temperature": 0,
                    "tool_choice": "required",
                    "tools": [{"type": "function", "name": LONG, "parameters": CUT}],
                },
            )
        )
        want(
            not any(i["type"] == "message" and any(p["text"] for p in i["content"]) for i in answer.json["output"])
            and answer.json["status"] == "incomplete",
            f"{answer}",
        )
        return json.dumps(answer.json["output"])

    @expect("w12", "a begun call is no text", f"POST {OLLAMA}, tool_choice required, num_predict {limit}", "pocket")
    def _(s, limit=limit):
        answer = ok(
            s.post(
                OLLAMA, SHORT[OLLAMA] | {"tools": [tool(CUT, LONG)], "tool_choice": "required", "options": {"num_predict": limit, "temperature": 0}}
            )
        )
        want(not answer.json["message"]["content"] and answer.json["done_reason"] == "length", f"{answer}")
        return json.dumps(answer.json["message"])
