"""Runs checks of Tandem and prints a line for each: key, right or wrong, what is expected, what was sent, what came."""

import json
import threading
import time

CHECKS = []  # in the order in which they are written
LIMIT = 60  # seconds that a check may take


class Wrong(Exception):
    """An answer that is not as it should be."""


def want(condition, came):
    if not condition:
        raise Wrong(came)


def expect(key, expectation, sent, needs=None):
    """Adds a check. The function gets what needs makes, and returns what came if that is right."""

    def add(function):
        CHECKS.append((key, expectation, sent, needs, function))
        return function

    return add


def clip(text, most=160):
    text = text if isinstance(text, str) else json.dumps(text)
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 20] + f"... ({len(text)} characters)"


def judge(function, *args):
    """Returns whether a check holds, and what came. One that takes too long does not hold."""
    result = [False, f"no answer within {LIMIT} s"]

    def work():
        try:
            result[:] = True, function(*args)
        except Wrong as e:
            result[:] = False, e.args[0]
        except Exception as e:
            result[:] = False, f"{type(e).__name__}: {e}"

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(LIMIT)
    return list(result)


def run(only, stage):
    """Runs the checks whose keys begin with one of only. stage(needs) returns what their functions get."""
    right = wrong = 0
    for key, expectation, sent, needs, function in sorted(CHECKS, key=lambda c: ("wms".index(c[0][0]), int(c[0][1:]))):
        if only and not any(key == o or key.startswith(o) and not o[-1].isdigit() for o in only):
            continue
        start = time.monotonic()
        try:
            args = stage(needs)
        except Exception as e:
            ok, came = False, f"not reached: {type(e).__name__}: {e}"
        else:
            ok, came = judge(function, *args)
        right, wrong = right + ok, wrong + (not ok)
        print(
            f"{'ok' if ok else 'WRONG':5}  {time.monotonic() - start:5.1f} s  {key:4} {expectation} | sent: {clip(sent)} | came: {clip(came)}",
            flush=True,
        )
    print(f"{right + wrong} inputs: {right} right, {wrong} wrong", flush=True)
    return wrong == 0 and right > 0
