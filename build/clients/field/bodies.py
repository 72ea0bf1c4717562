"""Requests for each vendor's route, and what has to come of them."""

from checks import want

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


ONE = {"type": "object", "properties": {"a": {"enum": ["x"]}}, "required": ["a"], "additionalProperties": False}
