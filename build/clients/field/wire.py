"""Requests as clients send them, to the pocket model."""

import http.client
import json
import socket
import time

from checks import expect, want

HI = [{"role": "user", "content": "hi"}]
CHAT, MESSAGES, RESPONSES, OLLAMA = "/v1/chat/completions", "/v1/messages", "/v1/responses", "/api/chat"
# A short request for each vendor's route.
SHORT = {
    CHAT: {"model": "tandem", "max_tokens": 2, "messages": HI},
    "/v1/completions": {"model": "tandem", "max_tokens": 2, "prompt": "hi"},
    RESPONSES: {"model": "tandem", "max_output_tokens": 2, "input": "hi"},
    MESSAGES: {"model": "tandem", "max_tokens": 2, "messages": HI},
    OLLAMA: {"model": "tandem", "stream": False, "options": {"num_predict": 2}, "messages": HI},
    "/api/generate": {"model": "tandem", "stream": False, "options": {"num_predict": 2}, "prompt": "hi"},
    "/api/show": {"model": "tandem"},
}


def tool(parameters, name="w", **more):
    return {"type": "function", "function": {"name": name, "parameters": parameters} | more}


def form(schema, **more):
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema} | more}


def ok(answer):
    want(answer.status == 200, f"{answer}")
    return answer


def refused(answer, *words, status=400):
    want(answer.status == status and all(w in answer.text for w in words), f"{answer}")
    return f"{answer}"


def said(answer):
    return ok(answer).json["choices"][0]["message"]["content"]


def told(answer):
    return f"{answer.status} {said(answer) if answer.status == 200 else answer.text}"


def called(answer):
    message = ok(answer).json["choices"][0]["message"]
    want(message.get("tool_calls"), f"{answer}")
    return message["tool_calls"][0]["function"]["arguments"]


# Headers and names

for path, body in SHORT.items():
    @expect("w1", "a body without Content-Type is JSON", f"POST {path}, no Content-Type", "pocket")
    def _(s, path=path, body=body):
        return f"{ok(s.post(path, json.dumps(body))).status}"

for kind in "application/octet-stream", "application/x-www-form-urlencoded":
    @expect("w1", "a program may declare its JSON as its HTTP library does", f"POST {OLLAMA}, Content-Type: {kind}", "pocket")
    def _(s, kind=kind):
        return f"{ok(s.post(OLLAMA, json.dumps(SHORT[OLLAMA]), headers={'Content-Type': kind})).status}"

for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}, {"Origin": "https://evil.example", "Content-Type": "text/plain"},
                {"Sec-Fetch-Site": "same-site", "Content-Type": "text/plain"}):
    @expect("w1", "a web page stays out", f"POST {OLLAMA}, {headers}", "pocket")
    def _(s, headers=headers):
        answer = s.post(OLLAMA, json.dumps(SHORT[OLLAMA]), headers=headers)
        want(answer.status in (403, 415), f"{answer}")
        return f"{answer}"

for path, body in SHORT.items():
    @expect("w2", "NAME:latest is NAME", f'POST {path}, model "tandem:latest"', "pocket")
    def _(s, path=path, body=body):
        return f"{ok(s.post(path, body | {'model': 'tandem:latest'})).status}"

@expect("w2", "NAME:latest is NAME", "GET /v1/models/tandem:latest", "pocket")
def _(s):
    return f"{ok(s.get('/v1/models/tandem:latest')).status}"

for path in OLLAMA, "/api/generate", "/api/show":
    for name in "Tandem:Latest", "POCKET":
        @expect("w2", "Ollama's routes ignore the case of names", f'POST {path}, model "{name}"', "pocket")
        def _(s, path=path, name=name):
            return f"{ok(s.post(path, SHORT[path] | {'model': name})).status}"

@expect("w2", "the name of no model is refused", f'POST {CHAT}, model "nope:latest"', "pocket")
def _(s):
    return refused(s.post(CHAT, SHORT[CHAT] | {"model": "nope:latest"}), "nope", status=404)


# Forms

for schema, digits in (({"enum": [9007199254740993]}, "9007199254740993"), ({"const": -12345678901234567890123}, "-12345678901234567890123"),
                       ({"type": "integer", "minimum": 9007199254740993, "maximum": 9007199254740993}, "9007199254740993")):
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

ONE = {"type": "object", "properties": {"a": {"enum": ["x"]}}, "required": ["a"], "additionalProperties": False}
for choice in "required", {"type": "function", "function": {"name": "w"}}:
    for wanted in {"type": "json_object"}, form(ONE, strict=True):
        @expect("w4", "a forced call comes though the body asks for JSON", f"tool_choice {json.dumps(choice)}, response_format {wanted['type']}", "pocket")
        def _(s, choice=choice, wanted=wanted):
            return called(s.chat(tools=[tool(ONE)], tool_choice=choice, response_format=wanted, max_tokens=120))

@expect("w4", "a forced call comes though the body asks for JSON", f"POST {RESPONSES}, tool_choice required, text.format json_object", "pocket")
def _(s):
    answer = ok(s.post(RESPONSES, {"model": "tandem", "input": "hi", "max_output_tokens": 120, "temperature": 0, "tool_choice": "required",
                                   "text": {"format": {"type": "json_object"}}, "tools": [{"type": "function", "name": "w", "parameters": ONE}]}))
    want({i["type"] for i in answer.json["output"]} == {"function_call"}, f"{answer}")
    return answer.json["output"][0]["arguments"]

@expect("w4", "a forced call comes though the body asks for JSON", f"POST {MESSAGES}, tool_choice any, output_config.format", "pocket")
def _(s):
    answer = ok(s.post(MESSAGES, {"model": "tandem", "messages": HI, "max_tokens": 120, "temperature": 0, "tool_choice": {"type": "any"},
                                  "output_config": {"format": {"type": "json_schema", "schema": ONE}}, "tools": [{"name": "w", "input_schema": ONE}]}))
    want({b["type"] for b in answer.json["content"]} == {"tool_use"}, f"{answer}")
    return json.dumps(answer.json["content"])

@expect("w4", "a forced call comes though the body asks for JSON", f"POST {OLLAMA}, tool_choice required, format json", "pocket")
def _(s):
    answer = ok(s.post(OLLAMA, SHORT[OLLAMA] | {"format": "json", "tools": [tool(ONE)], "tool_choice": "required", "options": {"num_predict": 120, "temperature": 0}}))
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

for name, reference in (("Partial<Foo>", "#/definitions/Partial%3CFoo%3E"), ("a/b~c", "#/definitions/a~1b~0c"), ("ü", "#/definitions/%C3%BC"), ("100%", "#/definitions/100%25")):
    @expect("w6", "a $ref is a URI fragment that holds a JSON Pointer", f'{{"$ref": "{reference}"}}', "pocket")
    def _(s, name=name, reference=reference):
        content = said(s.chat(response_format=form({"$ref": reference, "definitions": {name: ONE}}, strict=True), max_tokens=60))
        want(json.loads(content) == {"a": "x"}, content)
        return content


# Streams and beginnings

@expect("w7", "a stream of responses has events while the prompt is computed", f"POST {RESPONSES}, stream, 17,000 tokens", "pocket")
def _(s):
    body = {"model": "tandem", "stream": True, "max_output_tokens": 2, "input": " ".join(f"{i % 97} x" for i in range(7000))}
    connection = http.client.HTTPConnection("127.0.0.1", s.port, timeout=10)
    connection.request("POST", RESPONSES, json.dumps(body), {"Content-Type": "application/json"})
    start, seen = time.monotonic(), []
    try:
        for line in connection.getresponse():
            line = line.decode().strip()
            if line.startswith((":", "event:")):
                seen.append((round(time.monotonic() - start, 1), line.removeprefix("event: ")))
            if time.monotonic() > start + 12 or line == "event: response.output_item.added":
                break
    except TimeoutError:
        pass
    connection.close()
    kinds = [kind for _, kind in seen]
    want(kinds[:2] == ["response.created", "response.in_progress"] and seen[1][0] < 3 and not any(k.startswith(":") for k in kinds), f"{seen}")
    want(kinds.count("response.in_progress") > 1 or kinds[-1] == "response.output_item.added", f"{seen}")
    return f"{seen}"

for begun, end in (("func (c *conn) Close() error {", "\n\t"), ("The list:", "\n\n- "), ("def f(): pass", "\n\n\n\t\t\n")):
    @expect("w8", "an answer goes on behind the very text of the last message", f"POST {MESSAGES}, the last message ends in {end!r}", "pocket")
    def _(s, begun=begun, end=end):
        def asked(text):
            answer = ok(s.post(MESSAGES, {"model": "tandem", "max_tokens": 16, "temperature": 0, "messages": HI + [{"role": "assistant", "content": text}]})).json
            return answer["usage"]["input_tokens"] + answer["usage"]["cache_read_input_tokens"], answer["content"]

        without, _ = asked(begun)
        tokens, content = asked(begun + end)
        want(tokens > without and content and content[0]["text"], f"{tokens} tokens, without the end {without}, {content}")
        return f"{tokens} tokens, without the end {without}, {content}"


# The door

for host in "host.docker.internal", "host.containers.internal", "gateway.docker.internal":
    @expect("w9", "containers come in by their name for this machine", f"Host: {host}", "pocket")
    def _(s, host=host):
        return f"{ok(s.get('/v1/models', headers={'Host': f'{host}:{s.port}'})).status}"

for host in "evil.example", "internal.evil.example", "":
    @expect("w9", "an unknown host stays out", f'Host: "{host}"', "pocket")
    def _(s, host=host):
        answer = s.get("/v1/models", headers={"Host": host})
        want(answer.status in (400, 403), f"{answer}")
        return f"{answer}"

@expect("w9", "Connect shows the address for containers", "GET /app/connect", "pocket")
def _(s):
    want("host.docker.internal" in ok(s.control("GET", "/app/connect")).text, "no host.docker.internal")
    return "host.docker.internal"

BLOCKS = {
    "tool_reference": {"type": "tool_reference", "tool_name": "w"},
    "search_result": {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "heron heron heron"}]},
    "document": {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "heron heron heron"}},
}
for kind, block in BLOCKS.items():
    @expect("w10", "what holds text is read as text in a tool_result", f"POST {MESSAGES}, {json.dumps(block)}", "pocket")
    def _(s, block=block):
        def counted(content):
            turns = [HI[0], {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "w", "input": {}}]},
                     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": content}]}]
            ok(s.post(MESSAGES, SHORT[MESSAGES] | {"messages": turns}))
            return ok(s.post(MESSAGES + "/count_tokens", {"model": "tandem", "messages": turns})).json["input_tokens"]

        with_block, without = counted([block]), counted([])
        want(with_block > without, f"{with_block} tokens with it, {without} without")
        return f"{with_block} tokens with it, {without} without"

@expect("w10", "what holds text is read as text in a message", f"POST {MESSAGES}, a document with a text source", "pocket")
def _(s):
    return f"{ok(s.post(MESSAGES, SHORT[MESSAGES] | {'messages': [{'role': 'user', 'content': [BLOCKS['document'], BLOCKS['search_result']]}]})).status}"

@expect("w11", "a model's description has its listed name", 'POST /api/show {"model":"tandem:latest"}', "pocket")
def _(s):
    info = ok(s.post("/api/show", {"model": "tandem:latest"})).json["model_info"]
    want(info.get("general.basename") == "tandem:latest", json.dumps(info))
    return info["general.basename"]


# Calls and limits

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
        answer = ok(s.post(MESSAGES, {"model": "tandem", "messages": HI, "max_tokens": limit, "temperature": 0, "tool_choice": {"type": "any"}, "tools": [{"name": LONG, "input_schema": CUT}]}))
        want(not any(b["type"] == "text" and b["text"] for b in answer.json["content"]) and answer.json["stop_reason"] == "max_tokens", f"{answer}")
        return json.dumps(answer.json["content"])

    @expect("w12", "a begun call is no text", f"POST {RESPONSES}, tool_choice required, max_output_tokens {limit}", "pocket")
    def _(s, limit=limit):
        answer = ok(s.post(RESPONSES, {"model": "tandem", "input": "hi", "max_output_tokens": limit, "temperature": 0, "tool_choice": "required", "tools": [{"type": "function", "name": LONG, "parameters": CUT}]}))
        want(not any(i["type"] == "message" and any(p["text"] for p in i["content"]) for i in answer.json["output"]) and answer.json["status"] == "incomplete", f"{answer}")
        return json.dumps(answer.json["output"])

    @expect("w12", "a begun call is no text", f"POST {OLLAMA}, tool_choice required, num_predict {limit}", "pocket")
    def _(s, limit=limit):
        answer = ok(s.post(OLLAMA, SHORT[OLLAMA] | {"tools": [tool(CUT, LONG)], "tool_choice": "required", "options": {"num_predict": limit, "temperature": 0}}))
        want(not answer.json["message"]["content"] and answer.json["done_reason"] == "length", f"{answer}")
        return json.dumps(answer.json["message"])

for path, field in ((CHAT, "max_tokens"), (CHAT, "max_completion_tokens"), ("/v1/completions", "max_tokens"), (RESPONSES, "max_output_tokens"), (MESSAGES, "max_tokens")):
    @expect("w13", "a limit of -1 counts as left out", f'POST {path}, "{field}": -1', "pocket")
    def _(s, path=path, field=field):
        body = {k: v for k, v in SHORT[path].items() if k not in ("max_tokens", "max_output_tokens")} | {field: -1, "temperature": 0}
        stop = {RESPONSES: {}, "/v1/completions": {"prompt": "func (s *Server) ", "stop": "e"}, MESSAGES: {"stop_sequences": ["\n", "e"]}}.get(path, {"stop": ["\n", "e"]})
        return f"{ok(s.post(path, body | stop)).status}"

@expect("w14", "a schema that names properties is an object's", 'schema {"properties":{"a":{"type":"boolean"}},"required":["a"]}', "pocket")
def _(s):
    content = said(s.chat(response_format=form({"properties": {"a": {"type": "boolean"}}, "required": ["a"]}), max_tokens=60))
    want(isinstance(json.loads(content), dict) and isinstance(json.loads(content)["a"], bool), content)
    return content

@expect("w15", "the schema of a json_object is honoured", f'POST {CHAT}, {{"type":"json_object","schema":...}}', "pocket")
def _(s):
    content = said(s.chat(response_format={"type": "json_object", "schema": ONE}, max_tokens=60))
    want(json.loads(content) == {"a": "x"}, content)
    return content

@expect("w15", "response_format on responses is refused and says where it belongs", f"POST {RESPONSES}, response_format", "pocket")
def _(s):
    return refused(s.post(RESPONSES, SHORT[RESPONSES] | {"response_format": {"type": "json_object"}}), "text.format")

for what, function in (("no arguments", {"name": "w"}), ("arguments null", {"name": "w", "arguments": None}), ('arguments ""', {"name": "w", "arguments": ""})):
    for path in CHAT, OLLAMA:
        @expect("w16", "a past call without arguments has an empty object", f"POST {path}, history with {what}", "pocket")
        def _(s, path=path, function=function):
            turns = HI + [{"role": "assistant", "content": "", "tool_calls": [{"id": "a", "type": "function", "function": function}]},
                          {"role": "tool", "tool_call_id": "a", "content": "x"}]
            return f"{ok(s.post(path, SHORT[path] | {'messages': turns})).status}"

@expect("w17", "a client that ends its sending gets its answer", "shutdown(SHUT_WR) behind the request", "pocket")
def _(s):
    body = json.dumps(SHORT[CHAT])
    with socket.create_connection(("127.0.0.1", s.port), 30) as c:
        c.sendall(f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        c.shutdown(socket.SHUT_WR)
        text = b""
        while part := c.recv(65536):
            text += part
    want(text.startswith(b"HTTP/1.1 200") and b"choices" in text, text.decode()[:300])
    return text.decode().split("\r\n")[0]

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

for what, part in (("an unknown type", {"type": "nonsense"}), ("overlapping oneOf", {"oneOf": [{"type": "string"}, {"type": "string", "minLength": 2}]}), ("a bad pattern", {"type": "string", "pattern": "("})):
    @expect("w19", "the refusal of a tool's schema names tool, path and remedy", f"strict tool weather whose property city has {what}", "pocket")
    def _(s, part=part):
        schema = {"type": "object", "properties": {"city": part}, "required": ["city"], "additionalProperties": False}
        text = refused(s.chat(tools=[tool(ONE, "other"), tool(schema, "weather", strict=True)], tool_choice={"type": "function", "function": {"name": "weather"}}), "weather", "city")
        want("coerce_one_of" not in text and "start:" not in text and len(text) < 700, text)
        return text


# What is there to be read, and routes that programs ask

for what, content in (("input_text", [{"type": "input_text", "text": "hi"}]), ("a bare string", ["hi"]), ("text", [{"type": "text", "text": "hi"}])):
    @expect("w20", "a part that holds text is read", f"POST {CHAT}, content with {what}", "pocket")
    def _(s, content=content):
        plain, listed = (ok(s.chat(content)).json["usage"]["prompt_tokens"] for content in ("hi", content))
        want(plain == listed, f"{listed} tokens, as text {plain}")
        return f"{listed} tokens"

@expect("w20", "a part that holds a thought is read", f"POST {CHAT}, assistant's content with thinking", "pocket")
def _(s):
    turns = HI + [{"role": "assistant", "content": [{"type": "thinking", "thinking": "well"}, {"type": "text", "text": "yes"}]}] + HI
    return f"{ok(s.chat(messages=turns)).status}"

@expect("w20", "a flat tool_choice is read", f'POST {CHAT}, tool_choice {{"type":"function","name":"w"}}', "pocket")
def _(s):
    return called(s.chat(tools=[tool(ONE)], tool_choice={"type": "function", "name": "w"}, max_tokens=120))

ROUTES = (("POST", "/v1/responses/input_tokens", {"model": "tandem", "input": "hi"}, "input_tokens"), ("POST", "/v1/responses/compact", {"model": "tandem", "input": "hi"}, "output"),
          ("GET", "/api/v0/models", None, "data"), ("GET", "/props", None, "default_generation_settings"), ("POST", "/tokenize", {"content": "hi"}, "tokens"),
          ("POST", "/detokenize", {"tokens": [70, 71]}, "content"), ("POST", "/infill", {"input_prefix": "func max(", "input_suffix": "}", "n_predict": 4}, "content"))
for method, path, body, field in ROUTES:
    @expect("w20", "a route that editors' local providers call answers", f"{method} {path}", "pocket")
    def _(s, method=method, path=path, body=body, field=field):
        answer = ok(s.send(method, path, body))
        want(field in answer.json, f"no {field} in {answer}")
        return answer.text

for headers in {}, {"Accept": "*/*"}, {"Accept": "application/json"}:
    @expect("w20", "programs see that Ollama is running", f"GET /, {headers or 'no Accept'}", "pocket")
    def _(s, headers=headers):
        answer = ok(s.get("/", headers=headers))
        want("Ollama is running" in answer.text, f"{answer}")
        return f"{answer}"

@expect("w20", "a browser does not see that Ollama is running", "GET /, Accept: text/html", "pocket")
def _(s):
    answer = s.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    want("Ollama is running" not in answer.text and answer.status < 400, f"{answer}")
    return f"{answer.status} {answer.headers.get('Content-Type')}"

@expect("w20", "a page that is let in may delete", "OPTIONS /v1/responses/x, Access-Control-Request-Method: DELETE", "pocket")
def _(s):
    answer = s.send("OPTIONS", "/v1/responses/x", headers={"Origin": "http://page.example", "Access-Control-Request-Method": "DELETE"})
    methods = answer.headers.get("Access-Control-Allow-Methods", "")
    want("DELETE" in methods, f"{answer.status} Access-Control-Allow-Methods: {methods}")
    return methods

for path in OLLAMA, "/api/generate":
    for name in "tandem", "tandem:latest", "pocket":
        for stream in False, True:
            @expect("w20", "Ollama's answer names the model that was asked", f'POST {path}, model "{name}", stream {stream}', "pocket")
            def _(s, path=path, name=name, stream=stream):
                lines = ok(s.post(path, SHORT[path] | {"model": name, "stream": stream})).text.splitlines()
                names = {json.loads(line)["model"] for line in lines if line}
                want(names == {name}, f"{names}")
                return f"{names}"
