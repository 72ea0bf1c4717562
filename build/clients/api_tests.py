"""Runs the API tests that the openai and anthropic packages publish with their source against a running `tandem serve`.

python api_tests.py PACKAGE BASE_URL SOURCE   (BASE_URL without /v1; SOURCE is the unpacked source; runs in an empty folder)

Run are the tests of the routes that the server's description has. api_tests.toml says which names are rewritten, and which
tests can't pass and why. Fails if another one fails, or if one of these passes.
"""

import collections
import fnmatch
import functools
import inspect
import json
import os
import pathlib
import re
import shutil
import sys
import tomllib
import urllib.request

import pytest

PACKAGE, BASE, SOURCE = sys.argv[1:]
LIST = tomllib.loads(pathlib.Path(__file__).with_suffix(".toml").read_text())[PACKAGE]
TESTS = pathlib.Path("tests/api_resources")


def sent(path, body=None):
    request = urllib.request.Request(BASE + path, json.dumps(body).encode() if body else None, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


@functools.cache
def served():
    """Returns the paths that the server describes, without parameters: /v1/responses/input_items."""
    return {re.sub(r"/\{[^}]*\}", "", path) for path in sent("/openapi.json")["paths"]}


def route(file):
    """Returns the path that the tests of a file are for. responses/test_input_items.py is for /v1/responses/input_items."""
    return "/v1/" + str(file.relative_to(TESTS)).removeprefix("beta/").removesuffix(".py").replace("test_", "")


def copied():
    """Copies the tests with names of this server, and returns the files that run."""
    shutil.copytree(pathlib.Path(SOURCE) / "tests", "tests")
    files = [f for f in sorted(TESTS.rglob("test_*.py")) if route(f) in served()]
    for file in files:
        text = file.read_text()
        for name, ours in LIST["names"].items():
            text = text.replace(name, ours)
        for name in LIST["stored"]:
            text = text.replace(f'"{name}"', 'os.environ["STORED"]')
        file.write_text(text)
    pathlib.Path("pytest.ini").write_text("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = session\n")
    return files


def listed(item):
    """Returns reasons and patterns of the list that name a test. The classes of clients have the same tests."""
    name = f"{item.path.relative_to(TESTS.absolute())}::{item.originalname}"
    names = name, f"{name} {item.callspec.id}"
    return [(reason, p) for reason, patterns in LIST["unmet"].items() for p in patterns if any(fnmatch.fnmatchcase(n, p) for n in names)]


class Judge:
    """A plugin of pytest that compares the results with the list."""

    def __init__(self):
        self.matched, self.passed, self.reasons, self.wrong = set(), 0, collections.Counter(), []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        """Stores a response for a test that names one, which may delete it."""
        if 'environ["STORED"]' in inspect.getsource(item.function):
            answer = sent("/v1/responses", {"model": "tandem", "input": "hi", "max_output_tokens": 16})
            os.environ["STORED"] = answer["id"]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if report.when == "call" or not report.passed:
            self.add(item, report)
        return report

    def add(self, item, report):
        why = listed(item)
        self.matched.update(p for _, p in why)
        if report.passed and why:
            self.wrong.append(f"{item.nodeid} passes, and api_tests.toml lists it: {why[0][0]}")
        elif report.passed:
            self.passed += 1
        elif why:
            self.reasons[why[0][0]] += 1
        else:
            self.wrong.append(f"{item.nodeid} fails, and api_tests.toml does not list it:\n{report.longreprtext}")


files, judge = copied(), Judge()
os.environ["TEST_API_BASE_URL"] = BASE + LIST["base"]
pytest.main(["-q", "--tb=native", "-p", "no:cacheprovider", "--no-summary", *map(str, files)], plugins=[judge])
stale = [p for patterns in LIST["unmet"].values() for p in patterns if p not in judge.matched]
judge.wrong += [f"api_tests.toml lists {p}, and no test has this name" for p in stale]
unmet = judge.reasons.total()
print(f"note {judge.passed} of {judge.passed + unmet} pass, " + ", ".join(f"{n} {reason}" for reason, n in judge.reasons.items()))
if judge.wrong or not judge.passed:
    sys.exit("\n".join(judge.wrong) or "no test passes")
print("ok its maker's own tests of the API")
