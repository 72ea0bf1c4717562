"""What no request of a field's own can show: tests in Go, each a table of variants, and one of the page in a browser."""

import json
import os
import pathlib
import shutil
import subprocess

from checks import expect, want

ROOT = pathlib.Path(__file__).resolve().parents[3]

# By key: what is expected, the package, and the tests that hold it.
HELD = (
    ("m15", "a call is a call wherever the model puts it and whichever tags are missing or doubled", "app/dialect", ["TestParserReadsWhatModelsWrite"]),
    ("m15", "a call reads alike however the stream splits it", "app/dialect", ["TestFixturesReadAlikeHoweverSplit", "TestBrokenFixturesReadAlikeHoweverSplit"]),
    ("m15", "an answer that is cut within a call is no text", "app/dialect", ["TestBegunCallThatIsCutIsNoText"]),
    ("m15", "all four APIs say the same of a call that is broken", "app/api", ["TestStreamSaysWhatWholeAnswerSays", "TestCallIsToldAlikeWhereverItIsCut"]),
    ("m16", "a template is given text beside calls in a form that it takes at each step", "app/dialect", ["TestFormFitsAWholeConversation"]),
    ("m16", "arguments are JSON where a template prints them", "app/dialect", ["TestArgumentsAreJSONWhereATemplatePrintsThem"]),
    ("m17", "weights of each format are those of llama.cpp", "models/gguf", ["TestWeightsAreThoseOfLlamaCPP", "TestExactWeightsAreThoseOfLlamaCPP", "TestLossesAreTrue"]),
    ("m17", "texts of GGUF files are split as their makers do", "models/gguf", ["TestTokenizersAreTheirMakers", "TestSplitsAreTheirMakers"]),
    ("m17", "a GGUF file with numbers that do not fit is refused by their name", "models/gguf", ["TestOtherNumbersAreRefused", "TestLayersWithOtherHeadsAreRefused", "TestFactorsOfOthersAreRefused"]),
    ("m18", "heads whose keys and values cannot have few bits are named", "models", ["TestHeadsThatCannotBeQuantizedAreRefused"]),
    ("s17", "a process that computes templates is replaced once, then it is 503", "engine/native", ["TestProcessThatIsLostIsReplaced", "TestProcessThatCrashesIsAnError"]),
    ("s18", "a start removes unfinished copies of the database", "storage", ["TestUnfinishedCopiesAreRemovedAtAStart"]),
    ("s18", "a database that is lost is told", "app", ["TestLostDatabaseIsTold"]),
    ("s19", "memory limits of a container count", "app/home", ["TestMemoryOfAControlGroup"]),
    ("s19", "a download writes through no link", "models/hub", ["TestLinksAreNotWrittenThrough"]),
    ("s19", "a hub that answers otherwise is told in words", "models/hub", ["TestPullSurvivesMisbehavingHubs"]),
    ("s19", "a report that is no regular file is refused before it is read", "app/cmd/lab", ["TestVerbsFollowTheirScripts"]),
    ("s20", "the report has no text or name of a person", "app", ["TestReportHasNoTextOrNameOfAPerson", "TestReportLeavesOutUnknownModels"]),
    ("s21", "nothing that a terminal shows moves its cursor", "app/terminal", ["TestSentencesHaveNoControlCharacters", "TestErrorsAndObjectsHaveNoControlCharacters", "TestTableHasNoControlCharacters"]),
)


def tested():
    """Runs the tests of HELD once. Returns the ends of each by package and name, and what was printed."""
    packages = sorted({"./" + package for _, _, package, _ in HELD})
    names = "|".join(sorted({n for *_, tests in HELD for n in tests}))
    done = subprocess.run(["go", "test", "-json", "-run", f"^({names})$", *packages], cwd=ROOT, capture_output=True, text=True)
    ends, said = {}, {}
    for line in done.stdout.splitlines():
        e = json.loads(line)
        key = e.get("Package", "").removeprefix("tandem/"), e.get("Test", "").partition("/")[0]
        if e["Action"] in ("pass", "fail", "skip") and "/" not in e.get("Test", ""):
            ends[key] = e["Action"]
        said[key] = said.get(key, "") + e.get("Output", "")
    return ends, said


for key, expectation, package, tests in HELD:

    @expect(key, expectation, f"go test ./{package} -run '{'|'.join(tests)}'", "tested")
    def _(ends, said, package=package, tests=tests):
        wrong = [t for t in tests if ends.get((package, t)) != "pass"]
        want(not wrong, "\n".join(said.get((package, t)) or f"{t} did not run: {said.get((package, ''))}" for t in wrong))
        return f"{len(tests)} pass"


def page(stage):
    """Runs the test of the page, and returns its end and what it printed."""
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not browser:
        raise OSError("there is no Chromium; `go run ./build test ui` installs it")
    s = stage.serve("--model", "pocket")
    env = {"PATH": os.environ["PATH"], "HOME": s.home, "TANDEM": s.program, "TANDEM_HOME": s.home + "/tandem", "OUT": s.home, "CHROMIUM": browser}
    done = subprocess.run(["node", "--test", "test/odd.test.mjs"], cwd=ROOT / "frontend", env=env, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout


@expect("s22", "an answer of any text is shown, and the page goes on", "node --test frontend/test/odd.test.mjs", page)
def _(status, said):
    want(status == 0, said[-3000:])
    return said[-300:]
