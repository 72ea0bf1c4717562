"""What the checks share: the starter by its routes, eight clients at once, and what was recorded."""

import concurrent.futures
import http.client
import json
import pathlib
import threading
import urllib.parse

HERE = pathlib.Path(__file__).parent
CLIENTS = 8


def recorded(name):
    """Returns the rows of a recorded file."""
    return json.loads((HERE / "testdata" / name).read_text())["rows"]


class Server:
    """The routes of one server. Each thread has a connection of its own."""

    def __init__(self, url):
        self.at, self.mine = urllib.parse.urlsplit(url).netloc, threading.local()

    def post(self, path, **body):
        """Returns what a route answers. A refusal ends the program with its text."""
        if not hasattr(self.mine, "connection"):
            self.mine.connection = http.client.HTTPConnection(self.at, timeout=280)
        self.mine.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.mine.connection.getresponse()
        text = answer.read().decode()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {text}")
        return json.loads(text)

    def chat(self, messages, **fields):
        """Returns the starter's choice, with the ids of prompt and answer, and the timings."""
        answer = self.post("/v1/chat/completions", model="starter", messages=messages, return_token_ids=True, **fields)
        return answer["choices"][0] | {"prompt_token_ids": answer["choices"][0].get("prompt_token_ids") or answer["prompt_token_ids"], "timings": answer["timings"]}


def together(work, rows):
    """Returns work(row) of each row, in their order. Eight clients do it at once."""
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(work, rows))
