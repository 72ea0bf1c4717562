"""Checks that a conversation of 3,000 tokens survives the end of the program.

python kill.py TANDEM   (the program; it serves in homes of its own)
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

from checks import check, run
from starter import Server

TEXT = pathlib.Path(__file__).parents[2].joinpath("engine", "LOG.md").read_text()[:11000]
LEAST = 3000  # tokens of the conversation


class Program:
    """A tandem serve on a home folder."""

    def __init__(self, home):
        env = os.environ | {"TANDEM_HOME": home, "HF_HUB_OFFLINE": "1"}
        self.process = subprocess.Popen([sys.argv[1], "serve", "--addr", "127.0.0.1:0", "--model", "starter"], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.server = Server(self.process.stdout.readline().strip())

    def end(self, how):
        how()
        self.process.wait(timeout=20)


def survives():
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as fresh:
        first = [{"role": "user", "content": TEXT + "\nWhat is this text about?"}]
        program = Program(home)
        said = program.server.chat(first, temperature=0, max_tokens=96, ignore_eos=True)
        tokens = len(said["prompt_token_ids"]) + len(said["token_ids"])
        check(tokens >= LEAST, f"the conversation has {tokens} tokens")
        time.sleep(2)  # written by then
        program.end(program.process.kill)

        turns = [*first, {"role": "assistant", "content": said["message"]["content"]}, {"role": "user", "content": "Say more."}]
        answers = {}
        for name, folder in (("after the kill", home), ("from nothing", fresh)):
            program = Program(folder)
            answers[name] = program.server.chat(turns, temperature=0, max_tokens=32)
            program.end(program.process.terminate)
        again, whole = answers["after the kill"], answers["from nothing"]
        check(again["prompt_token_ids"] == whole["prompt_token_ids"], "the prompts differ")
        check(again["timings"]["cache_n"] >= LEAST - 100, f"{again['timings']['cache_n']} tokens came back of {tokens}: {again['timings']}")
        check(whole["timings"]["cache_n"] == 0, f"{whole['timings']['cache_n']} tokens came back of nothing")
        check(again["token_ids"] == whole["token_ids"], f"{again['message']['content']!r}, from nothing {whole['message']['content']!r}")


run({"a conversation of 3,000 tokens goes on after kill -9 as if nothing was": survives})
