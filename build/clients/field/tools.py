"""Tools that the client runs, in each vendor's forms, and what the model cannot read in their results."""

import json

from bodies import CHAT, HI, MESSAGES, OLLAMA, ONE, RESPONSES, SHORT, called, ok, refused, tool
from checks import expect, want

COUNT = {RESPONSES: RESPONSES + "/input_tokens", MESSAGES: MESSAGES + "/count_tokens"}
FUNCTION = {"type": "function", "name": "w", "parameters": ONE}
ASK = {"role": "user", "content": "hi"}


def counted(s, path, **body):
    return ok(s.post(COUNT[path], {"model": "tandem"} | body)).json["input_tokens"]


def forced(s, tools, choice="required", **more):
    """Returns the items of an answer that has to be a call."""
    body = {"model": "tandem", "input": "hi", "max_output_tokens": 300, "temperature": 0, "tools": tools, "tool_choice": choice, "parallel_tool_calls": False} | more
    return ok(s.post(RESPONSES, body)).json["output"]


def added(*tools):
    return {"type": "additional_tools", "role": "developer", "tools": list(tools)}


# Tools that come as items

ADDED = {
    "a function": [added(FUNCTION)],
    "two items": [added(FUNCTION), added(FUNCTION | {"name": "v"})],
    "a namespace": [added({"type": "namespace", "name": "n", "description": "d", "tools": [FUNCTION]})],
    "a custom tool in a namespace": [added({"type": "namespace", "name": "functions", "description": "", "tools": [{"type": "custom", "name": "w"}]})],
}
for what, items in ADDED.items():

    @expect("w21", "the tools of an item are offered", f"POST {COUNT[RESPONSES]}, additional_tools with {what}", "pocket")
    def _(s, items=items):
        plain, got = counted(s, RESPONSES, input=[ASK]), counted(s, RESPONSES, input=items + [ASK])
        want(got > plain + 20, f"{got} tokens, {plain} without")
        return f"{got} tokens, {plain} without"

    @expect("w21", "the tools of an item are called", f"POST {RESPONSES}, tool_choice required, additional_tools with {what}", "pocket")
    def _(s, items=items):
        output = forced(s, [], input=items + [ASK])
        want(output[-1]["type"] in ("function_call", "custom_tool_call") and output[-1]["name"] in "wv", f"{output}")
        return json.dumps(output)


# Custom tools

REGEX, LARK = ({"type": "grammar", "syntax": n, "definition": d} for n, d in (("regex", "a{3}b"), ("lark", 'start: "a" "a" "a" "b"')))
for what, more, held in (
    ("no format", {}, False),
    ("a format of text", {"format": {"type": "text"}}, False),
    ("a regular expression", {"format": REGEX}, True),
    ("a Lark grammar", {"format": LARK}, True),
):
    for choice in "required", {"type": "custom", "name": "ap"}:

        @expect("w22", "a custom tool is called with a text by its grammar", f"POST {RESPONSES}, {what}, tool_choice {json.dumps(choice)}", "pocket")
        def _(s, more=more, held=held, choice=choice):
            (call,) = forced(s, [{"type": "custom", "name": "ap", **more}], choice)
            want(call["type"] == "custom_tool_call" and call["name"] == "ap" and (call["input"] == "aaab" or not held), f"{call}")
            return json.dumps(call)

    @expect("w22", "a custom tool is called with a text by its grammar", f"POST {CHAT}, {what}", "pocket")
    def _(s, more=more, held=held):
        body = {"name": "ap"} | {k: v if v["type"] == "text" else {"type": "grammar", "grammar": {x: v[x] for x in ("syntax", "definition")}} for k, v in more.items()}
        message = ok(s.chat(tools=[{"type": "custom", "custom": body}], tool_choice="required", max_tokens=300)).json["choices"][0]["message"]
        call = (message.get("tool_calls") or [{}])[0]
        want(call.get("type") == "custom" and call["custom"]["name"] == "ap" and (call["custom"]["input"] == "aaab" or not held), f"{message}")
        return json.dumps(call)


@expect("w22", "the text of a custom call streams", f"POST {RESPONSES}, stream", "pocket")
def _(s):
    body = {"model": "tandem", "input": "hi", "stream": True, "max_output_tokens": 300, "tools": [{"type": "custom", "name": "ap", "format": REGEX}]}
    events = ok(s.post(RESPONSES, body | {"tool_choice": "required", "parallel_tool_calls": False})).events()
    deltas = "".join(e["delta"] for e in events if e["type"] == "response.custom_tool_call_input.delta")
    done = [e["input"] for e in events if e["type"] == "response.custom_tool_call_input.done"]
    want(deltas == "aaab" and done == ["aaab"], f"{deltas!r} {done}")
    return f"{deltas!r} {done}"


@expect("w22", "a custom call of the history is read", f"POST {CHAT}, tool_calls of type custom", "pocket")
def _(s):
    call = {"id": "c", "type": "custom", "custom": {"name": "ap", "input": "aaab"}}
    turns = HI + [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "x"}]
    return f"{ok(s.chat(messages=turns)).status}"


# Tools with a form of their own

for kind, call, holds in (("shell", "shell_call", "action"), ("local_shell", "local_shell_call", "action"), ("apply_patch", "apply_patch_call", "operation")):

    @expect("w23", "the client's own tools are called in their form", f"POST {RESPONSES}, tool {kind}", "pocket")
    def _(s, kind=kind, call=call, holds=holds):
        item = forced(s, [{"type": kind}])[-1]
        want(item["type"] == call and isinstance(item[holds], dict), f"{item}")
        return json.dumps(item)

    @expect("w23", "the client's own tools are offered", f"POST {COUNT[RESPONSES]}, tool {kind}", "pocket")
    def _(s, kind=kind):
        plain, got = counted(s, RESPONSES, input="x"), counted(s, RESPONSES, input="x", tools=[{"type": kind}])
        want(got > plain + 20, f"{got} tokens, {plain} without")
        return f"{got} tokens, {plain} without"


SEARCH = {"type": "tool_search", "execution": "client", "description": "d", "parameters": ONE}


@expect("w24", "a search for tools that the client runs is called", f"POST {RESPONSES}, tool_search, execution client", "pocket")
def _(s):
    item = forced(s, [SEARCH])[-1]
    want(item["type"] == "tool_search_call" and item["arguments"] == {"a": "x"}, f"{item}")
    return json.dumps(item)


for what, found in (
    ("a function", FUNCTION),
    ("a custom tool", {"type": "custom", "name": "w"}),
    ("a namespace", {"type": "namespace", "name": "n", "description": "d", "tools": [FUNCTION]}),
):

    @expect("w24", "what a search finds is offered from there on", f"POST {RESPONSES}, tool_search_output with {what}", "pocket")
    def _(s, found=found):
        items = [
            ASK,
            {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"a": "x"}},
            {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": [found]},
        ]
        output = forced(s, [], input=items)
        want(output[-1].get("name") == "w", f"{output}")
        return json.dumps(output)


for kind, name in (
    ("bash_20250124", "bash"),
    ("text_editor_20250728", "str_replace_based_edit_tool"),
    ("text_editor_20250124", "str_replace_editor"),
    ("memory_20250818", "memory"),
):

    @expect("w25", "Anthropic's tools that the client runs are offered and called", f"POST {MESSAGES}, {kind}", "pocket")
    def _(s, kind=kind, name=name):
        tools = [{"type": kind, "name": name}]
        plain, got = counted(s, MESSAGES, messages=HI), counted(s, MESSAGES, messages=HI, tools=tools)
        want(got > plain + 20, f"{got} tokens, {plain} without")
        body = {"model": "tandem", "max_tokens": 600, "temperature": 0, "messages": HI, "tools": tools, "tool_choice": {"type": "any", "disable_parallel_tool_use": True}}
        (block,) = ok(s.post(MESSAGES, body)).json["content"]
        want(block["type"] == "tool_use" and block["name"] == name, f"{block}")
        return json.dumps(block)


for kind, name in (("computer_20250124", "computer"), ("computer_20251124", "computer"), ("juggle_20990101", "juggle")):

    @expect("w25", "a tool that the model cannot have is refused by its name", f"POST {MESSAGES}, {kind}", "pocket")
    def _(s, kind=kind, name=name):
        return refused(s.post(MESSAGES, SHORT[MESSAGES] | {"tools": [{"type": kind, "name": name, "display_width_px": 9, "display_height_px": 9}]}), kind)


# Pictures

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64," + PNG}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
OLDER = {
    "a tool's result": (
        RESPONSES,
        "input",
        [
            ASK,
            {"type": "function_call", "call_id": "c", "name": "view_image", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": [IMAGE]},
        ],
    ),
    "an older turn": (RESPONSES, "input", [{"role": "user", "content": [IMAGE]}, {"role": "assistant", "content": "no"}, ASK]),
    "a tool_result": (
        MESSAGES,
        "messages",
        [
            ASK,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "w", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [PICTURE]}]},
        ],
    ),
    "an older message": (MESSAGES, "messages", [{"role": "user", "content": [PICTURE]}, {"role": "assistant", "content": "no"}, ASK]),
    "an older turn of a chat": (
        CHAT,
        "messages",
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": IMAGE["image_url"]}}]}, {"role": "assistant", "content": "no"}, ASK],
    ),
    "an older message of Ollama's": (OLLAMA, "messages", [{"role": "user", "content": "x", "images": [PNG]}, {"role": "assistant", "content": "no"}, ASK]),
}
for what, (path, field, turns) in OLDER.items():

    @expect("w26", "what the model cannot see does not end a conversation", f"POST {path}, a picture in {what}", "pocket")
    def _(s, path=path, field=field, turns=turns):
        answer = ok(s.post(path, SHORT[path] | {field: turns}))
        left = answer.json.get("left_out", answer.json.get("timings", {}).get("left_out", ""))
        want("1 image in " in left, f"{answer}"[-300:])
        return left

    if turns[0]["content"] not in ("hi",):

        @expect("w26", "a question with a picture is refused", f"POST {path}, the picture in the last message", "pocket")
        def _(s, path=path, field=field, turns=turns):
            return refused(s.post(path, SHORT[path] | {field: turns[:1]}))


# Items

for what, items, words in (
    ("a message", [{"type": "mesage", "role": "user", "content": "hi"}, *HI], ("mesage", "input[0].type")),
    ("a result", [*HI, {"type": "function_output", "call_id": "c", "output": "x"}], ("function_output", "input[1].type")),
    ("nothing else than items of OpenAI's servers", [{"type": "web_search_call", "id": "w"}], ("web_search_call", "send a message")),
):

    @expect("w26", "an item that cannot be read is refused by its type", f"POST {RESPONSES}, {what}", "pocket")
    def _(s, items=items, words=words):
        return refused(s.post(RESPONSES, SHORT[RESPONSES] | {"input": items}), *words)


@expect("w26", "an item that is left out is named", f"POST {RESPONSES}, items of servers", "pocket")
def _(s):
    answer = ok(s.post(RESPONSES, SHORT[RESPONSES] | {"input": [{"type": "x_search_call", "id": "x"}, {"type": "web_search_call", "id": "w"}, *HI]}))
    left = answer.json["timings"]["left_out"]
    want("web_search_call" in left and "x_search_call" in left, left)
    return left


# Names and forms of tools


@expect("w27", "a function is told as OpenAI's libraries read it", f"POST {RESPONSES}, a function with parameters {{}}", "pocket")
def _(s):
    echoed = ok(s.post(RESPONSES, SHORT[RESPONSES] | {"tools": [{"type": "function", "name": "w", "parameters": {}}]})).json["tools"][0]
    want({"type", "name", "strict", "parameters", "description"} <= set(echoed), f"{echoed}")
    return json.dumps(echoed)


for name in "a b.c/ü", "get weather", "名":

    @expect("w27", "a name that no call can have is refused with the pattern", f'POST {CHAT}, tool_choice required, tool "{name}"', "pocket")
    def _(s, name=name):
        answer = s.chat(tools=[tool(ONE, name)], tool_choice="required", max_tokens=100)
        if answer.status == 200:
            want(called(answer) and answer.json["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == name, f"{answer}")
            return f"{answer}"
        return refused(answer, "must match the pattern")


for path, stream in ((OLLAMA, False), (OLLAMA, True)):

    @expect("w27", "a call of Ollama's has an index, and an id that begins with call_", f"POST {path}, stream {stream}", "pocket")
    def _(s, path=path, stream=stream):
        more = {"tools": [tool(ONE)], "tool_choice": "required", "stream": stream, "options": {"num_predict": 120, "temperature": 0}}
        lines = [json.loads(line) for line in ok(s.post(path, SHORT[path] | more)).text.splitlines() if line]
        calls = [c for line in lines for c in line["message"].get("tool_calls") or []]
        want(calls and all(c["id"].startswith("call_") for c in calls), f"{calls}")
        want([c["function"]["index"] for c in calls] == list(range(len(calls))), f"{calls}")
        return json.dumps(calls)
