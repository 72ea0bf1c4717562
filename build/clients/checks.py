"""Checks for the clients in Python."""

import asyncio
import re
import time
import urllib.request


def check(condition, what):
    if not condition:
        raise SystemExit(what)


loop = asyncio.Runner()  # of all async checks, because a client that is async belongs to one event loop


def run(tests):
    """Runs functions under the names of the features that they check."""
    for feature, test in tests.items():
        if asyncio.iscoroutinefunction(test):
            loop.run(test())
        else:
            test()
        print(f"ok {feature}", flush=True)


def run_each(names, tests):
    """Runs functions for each of the names that a client can ask by. tests(name) returns them."""
    for name in names:
        print(f"note {name}", flush=True)
        run(tests(name))


def reader(base):
    """Returns a function that returns the text of a path of the server."""
    return lambda path: urllib.request.urlopen(base + path).read().decode()


def in_flight(get):
    """Returns how many requests the server is working on. get returns the text of a path."""
    return float(re.search(r"^tandem_requests_in_flight (\S+)$", get("/metrics"), re.M)[1])


def refusals(get, code):
    """Returns how many requests the server has refused with a status."""
    return sum(int(n) for n in re.findall(rf'^tandem_requests_total\{{code="{code}",\S* (\S+)$', get("/metrics"), re.M))


def comes_again(get, ask):
    """Fails unless the package sends ask again at the time that the server named. The server refuses it once."""
    before, start = refusals(get, 503), time.monotonic()
    said, took = ask("come again"), time.monotonic() - start
    check(said == "pong" and refusals(get, 503) == before + 1, f"{said!r}, refused {refusals(get, 503) - before} times")
    check(took > 0.9, f"the request was repeated after {took} s; the server asked for 1 s")  # without that, packages wait half a second


def let_go(get, what):
    """Fails unless the server is idle within 10 s."""
    for _ in range(100):
        if in_flight(get) == 0:
            return
        time.sleep(0.1)
    check(False, f"{what}: the request goes on after its client left")


async def given_up(get, ask):
    """Fails unless the server ends a request when its client's task is cancelled. ask starts the request and waits for the answer."""
    task = asyncio.create_task(ask())
    for _ in range(100):
        if in_flight(get) == 1 or task.done():
            break
        await asyncio.sleep(0.1)
    check(not task.done(), f"the request ends before it is cancelled: {task}")
    check(in_flight(get) == 1, f"{in_flight(get)} requests in flight while one computes")
    task.cancel()
    await asyncio.wait([task])
    check(task.cancelled(), f"a request that was cancelled ends so: {task}")
    await asyncio.to_thread(let_go, get, "a request whose task was cancelled")


# The tool that the script calls.
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
