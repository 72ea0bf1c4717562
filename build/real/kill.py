"""Checks that a conversation of 3,000 tokens survives the end of the program.

python kill.py TANDEM BITS   (the program, which serves in homes of its own, and the bits of keys and values)
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time

from checks import check, run
from starter import HERE, Server

TEXT = (HERE / "testdata" / "conversation.txt").read_text()  # of this project's log, as it once was
LEAST = 3000  # tokens of the conversation


@contextlib.contextmanager
def serving(home):
    """Gives a tandem serve on a home folder, and its process. At the end it is killed, if it still runs."""
    env = os.environ | {"TANDEM_HOME": home, "HF_HUB_OFFLINE": "1"}
    command = [sys.argv[1], "serve", "--addr", "127.0.0.1:0", "--model", "starter", "--kv-bits", sys.argv[2]]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield Server(process.stdout.readline().strip()), process
        finally:
            process.kill()


def survives():
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as fresh:
        first = [{"role": "user", "content": TEXT + "\nWhat is this text about?"}]
        with serving(home) as (server, _):
            said = server.chat(first, temperature=0, max_tokens=96, ignore_eos=True)
            tokens = len(said["prompt_token_ids"]) + len(said["token_ids"])
            check(tokens >= LEAST, f"the conversation has {tokens} tokens")
            time.sleep(2)  # written by then; the end is a kill

        turns = [*first, {"role": "assistant", "content": said["message"]["content"]}, {"role": "user", "content": "Say more."}]
        answers = {}
        for name, folder in (("after the kill", home), ("from nothing", fresh)):
            with serving(folder) as (server, process):
                answers[name] = server.chat(turns, temperature=0, max_tokens=32)
                process.terminate()
                process.wait(timeout=20)
        again, whole = answers["after the kill"], answers["from nothing"]
        check(again["prompt_token_ids"] == whole["prompt_token_ids"], "the prompts differ")
        check(again["timings"]["cache_n"] >= LEAST - 100, f"{again['timings']['cache_n']} tokens came back of {tokens}: {again['timings']}")
        check(whole["timings"]["cache_n"] == 0, f"{whole['timings']['cache_n']} tokens came back of nothing")
        check(again["token_ids"] == whole["token_ids"], f"{again['message']['content']!r}, from nothing {whole['message']['content']!r}")


run({f"a conversation of 3,000 tokens, with kv_bits {sys.argv[2]}, goes on after kill -9 as if nothing was": survives})
