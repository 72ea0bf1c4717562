"""Requests as clients send them, to the pocket model."""

import http.client
import json
import socket
import time

from bodies import CHAT, HI, MESSAGES, OLLAMA, ONE, RESPONSES, SHORT, called, ok, refused, tool
from checks import expect, want

# Headers and names

for path, body in SHORT.items():

    @expect("w1", "a body without Content-Type is JSON", f"POST {path}, no Content-Type", "pocket")
    def _(s, path=path, body=body):
        return f"{ok(s.post(path, json.dumps(body))).status}"


for kind in "application/octet-stream", "application/x-www-form-urlencoded":

    @expect("w1", "a program may declare its JSON as its HTTP library does", f"POST {OLLAMA}, Content-Type: {kind}", "pocket")
    def _(s, kind=kind):
        return f"{ok(s.post(OLLAMA, json.dumps(SHORT[OLLAMA]), headers={'Content-Type': kind})).status}"


for headers in (
    {"Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Origin": "null"},
    {"Origin": "https://evil.example", "Content-Type": "text/plain"},
    {"Sec-Fetch-Site": "same-site", "Content-Type": "text/plain"},
):

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
            answer = ok(
                s.post(MESSAGES, {"model": "tandem", "max_tokens": 16, "temperature": 0, "messages": HI + [{"role": "assistant", "content": text}]})
            ).json
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
            turns = [
                HI[0],
                {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "w", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": content}]},
            ]
            ok(s.post(MESSAGES, SHORT[MESSAGES] | {"messages": turns}))
            return ok(s.post(MESSAGES + "/count_tokens", {"model": "tandem", "messages": turns})).json["input_tokens"]

        with_block, without = counted([block]), counted([])
        want(with_block > without, f"{with_block} tokens with it, {without} without")
        return f"{with_block} tokens with it, {without} without"


@expect("w10", "what holds text is read as text in a message", f"POST {MESSAGES}, a document with a text source", "pocket")
def _(s):
    return (
        f"{ok(s.post(MESSAGES, SHORT[MESSAGES] | {'messages': [{'role': 'user', 'content': [BLOCKS['document'], BLOCKS['search_result']]}]})).status}"
    )


@expect("w11", "a model's description has its listed name", 'POST /api/show {"model":"tandem:latest"}', "pocket")
def _(s):
    info = ok(s.post("/api/show", {"model": "tandem:latest"})).json["model_info"]
    want(info.get("general.basename") == "tandem:latest", json.dumps(info))
    return info["general.basename"]


# Limits and histories

for path, field in (
    (CHAT, "max_tokens"),
    (CHAT, "max_completion_tokens"),
    ("/v1/completions", "max_tokens"),
    (RESPONSES, "max_output_tokens"),
    (MESSAGES, "max_tokens"),
):

    @expect("w13", "a limit of -1 counts as left out", f'POST {path}, "{field}": -1', "pocket")
    def _(s, path=path, field=field):
        body = {k: v for k, v in SHORT[path].items() if k not in ("max_tokens", "max_output_tokens")} | {field: -1, "temperature": 0}
        stop = {RESPONSES: {}, "/v1/completions": {"prompt": "func (s *Server) ", "stop": "e"}, MESSAGES: {"stop_sequences": ["\n", "e"]}}.get(
            path, {"stop": ["\n", "e"]}
        )
        return f"{ok(s.post(path, body | stop)).status}"


for what, function in (
    ("no arguments", {"name": "w"}),
    ("arguments null", {"name": "w", "arguments": None}),
    ('arguments ""', {"name": "w", "arguments": ""}),
):
    for path in CHAT, OLLAMA:

        @expect("w16", "a past call without arguments has an empty object", f"POST {path}, history with {what}", "pocket")
        def _(s, path=path, function=function):
            turns = HI + [
                {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "type": "function", "function": function}]},
                {"role": "tool", "tool_call_id": "a", "content": "x"},
            ]
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


ROUTES = (
    ("POST", "/v1/responses/input_tokens", {"model": "tandem", "input": "hi"}, "input_tokens"),
    ("POST", "/v1/responses/compact", {"model": "tandem", "input": "hi"}, "output"),
    ("GET", "/api/v0/models", None, "data"),
    ("GET", "/props", None, "default_generation_settings"),
    ("POST", "/tokenize", {"content": "hi"}, "tokens"),
    ("POST", "/detokenize", {"tokens": [70, 71]}, "content"),
    ("POST", "/infill", {"input_prefix": "func max(", "input_suffix": "}", "n_predict": 4}, "content"),
)
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
