"""Finds the texts of a developer's machine: source files, and documentation.

A document belongs to one kind, "code" or "prose", and to the training texts or to the held-out
ones, by the hash of its path. Files that a bench takes prompts from are held out, and so are their
copies and their other versions. A held-out document that is another version of a training document
belongs to neither.

Sources that are missing on a machine are left out, so that another machine has other texts.
"""

import ast
import collections
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
from dataclasses import dataclass

HELD_OUT = 20  # every HELD_OUT-th document is held out
SMALLEST, LARGEST = 600, 200_000  # bytes of a file
WIDEST = 200  # characters of a line; a file with longer ones was made by a program
MOST = 5_000  # documents of a source
LONGEST = 60  # lines of a function
SHARED = 3  # lines of a bench's text that make a copy of it
VERSION = 5  # a VERSION-th of a document's lines makes another version of it
STARTS = re.compile(r"(?:func|fn|pub|impl|function|export|class|sub|static|const|async|int|void)\b")
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "app", "bench", "texts.json")


@dataclass
class Document:
    path: str
    kind: str  # "code" or "prose"
    language: str  # for people: Go, Python, ...
    text: str


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def sources():
    """Returns [(folder, ends of names, kind, language)]."""
    home = os.path.expanduser("~")
    python = sysconfig.get_paths()
    found = []
    for root in (output("go", "env", "GOROOT") + "/src", output("go", "env", "GOMODCACHE")):
        found += [(root, (".go",), "code", "Go"), (root, (".md",), "prose", "")]
    for root in (python["stdlib"], python["purelib"], "/usr/lib/python3"):
        found += [(root, (".py",), "code", "Python"), (root, (".rst", ".md"), "prose", "")]
    cargo = os.path.join(home, ".cargo", "registry", "src")
    node = [os.path.join(os.path.dirname(BENCH), "..", "..", "frontend", "node_modules"), "/usr/lib/node_modules"]
    found += [(cargo, (".rs",), "code", "Rust"), (cargo, (".md",), "prose", "")]
    for root in node:
        found += [(root, (".ts", ".js", ".mjs"), "code", "JavaScript"), (root, (".md",), "prose", "")]
    found += [
        ("/usr/include", (".h",), "code", "C"),
        ("/usr/share/perl", (".pm",), "code", "Perl"),
        ("/usr/share/man/man1", ("",), "prose", ""),
        ("/usr/share/man/man3", ("",), "prose", ""),
        ("/usr/share/man/man5", ("",), "prose", ""),
        ("/usr/share/man/man7", ("",), "prose", ""),
        ("/usr/share/man/man8", ("",), "prose", ""),
        ("/usr/share/doc", (".md", ".txt", ".rst", ".gz"), "prose", ""),
    ]
    return [s for s in found if os.path.isdir(s[0])]


def number(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def read(path):
    """Returns the text of a file, "" if it is not one that a person wrote."""
    try:
        if not SMALLEST <= os.path.getsize(path) <= LARGEST:
            return ""
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
            text = f.read(2 * LARGEST).decode()
    except (OSError, EOFError, UnicodeDecodeError):
        return ""
    lines = text.splitlines()
    if len(lines) < 12 or max(map(len, lines)) > WIDEST or "DO NOT EDIT" in text[:2000] or "\0" in text:
        return ""
    return text.expandtabs(8) if "/man/" in path else text


def roff(text):
    """Returns the words of a man page, section by section."""
    out = []
    for line in text.splitlines():
        if m := re.match(r"\.(SH|SS|Sh|Ss)\s+\"?([^\"]+)", line):
            out.append("\n" + m[2].strip())
        elif m := re.match(r"\.(B|I|BR|IR|RB|BI|Nm|Fl|TP|Em|Sy)\s+(.+)", line):
            out.append(m[2].replace('"', ""))
        elif re.match(r"\.(PP|P|LP|Pp|sp|IP)\b", line):
            out.append("")
        elif not line.startswith((".", "'")):
            out.append(line)
    text = re.sub(r"\\f\[?\w\]?|\\[&%|^]|\\s[-+]?\d", "", "\n".join(out))
    text = re.sub(r"\\\((\w\w)|\\\[(\w+)\]", " ", text).replace("\\-", "-").replace("\\e", "\\")
    return text.strip()


def files(folder, ends):
    """Returns the paths of a source, each name once, in an order that depends on the names alone."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in (".git", "testdata", "__pycache__", "vendor"))
        for name in names:
            path = os.path.join(place, name)
            if name.endswith(ends) and not os.path.islink(path) and ".min." not in name:
                found.setdefault(name + str(os.path.getsize(path)), path)
    return sorted(found.values(), key=lambda p: number(os.path.relpath(p, folder)))


class Lines:
    """The longer lines of texts, by which copies and other versions of them are found."""

    SHORTEST = 24  # characters

    def __init__(self, texts):
        self.texts, self.counts = {}, []  # {line: the texts that have it}, lines of each text
        for i, text in enumerate(texts):
            lines = self.of(text)
            self.counts.append(len(lines))
            for line in lines:
                self.texts.setdefault(line, []).append(i)

    def of(self, text):
        return {line for line in map(str.strip, text.splitlines()) if len(line) >= self.SHORTEST}

    def shared(self, text):
        """Returns how many lines text shares with each text that has one of its lines, a Counter."""
        return collections.Counter(i for line in self.of(text) for i in self.texts.get(line, ()))


def bench_lines():
    """Returns the lines of the texts that benches take prompts from."""
    with open(BENCH) as f:
        texts = json.load(f)
    return Lines(t["text"] for part in ("code", "edit") for t in texts[part])


def apart(held_out, trained):
    """Returns the held-out documents that are no version of a training document."""
    lines = Lines(d.text for d in held_out)
    versions = set()
    for d in trained:
        versions.update(i for i, n in lines.shared(d.text).items() if n >= max(SHARED, lines.counts[i] / VERSION))
    return [d for i, d in enumerate(held_out) if i not in versions]


def documents():
    """Returns (training documents, held-out documents), each {kind: [Document]}."""
    bench = bench_lines()
    parts, seen = ({"code": [], "prose": []}, {"code": [], "prose": []}), set()
    for folder, ends, kind, language in sources():
        count = 0
        for path in files(folder, ends):
            name = os.path.relpath(path, folder)
            text = read(path)
            if "/man/" in path:
                text = roff(text)
            digest = number(text)
            if len(text) < SMALLEST or digest in seen:
                continue
            seen.add(digest)
            held_out = number(name) % HELD_OUT == 0 or max(bench.shared(text).values(), default=0) >= SHARED
            parts[held_out][kind].append(Document(name, kind, language, text))
            count += 1
            if count == MOST:
                break
    trained, held_out = parts
    return trained, {kind: apart(held_out[kind], trained[kind]) for kind in held_out}


def functions(document):
    """Returns the functions of a source file, each a text of a few lines."""
    if document.language == "Python":
        try:
            tree = ast.parse(document.text)
        except (SyntaxError, ValueError, RecursionError):
            return []
        lines = document.text.splitlines()
        nodes = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
        found = ["\n".join(lines[n.lineno - 1 : n.end_lineno]) for n in nodes]
    else:
        found = braced(document.text.splitlines())
    return [dedent(f) for f in found if 4 <= f.count("\n") <= LONGEST]


def braced(lines):
    """Returns the texts that begin with a line of STARTS and end with the next line that begins with a brace."""
    found = []
    for i, line in enumerate(lines):
        if not line.endswith("{") or not STARTS.match(line):
            continue
        last = next((j for j in range(i + 1, min(i + LONGEST, len(lines))) if lines[j].startswith("}")), None)
        if last:
            while i and lines[i - 1].startswith("//"):
                i -= 1
            found.append("\n".join(lines[i : last + 1]))
    return found


def dedent(text):
    lines = text.splitlines()
    depth = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[depth:] if not line[:depth].strip() else line for line in lines)


def paragraphs(document):
    """Returns runs of paragraphs of 200 to 1,600 characters."""
    runs, run = [], ""
    for part in re.split(r"\n\s*\n", document.text):
        part = part.strip("\n")
        if len(run) + len(part) > 1600:
            runs.append(run)
            run = ""
        run = f"{run}\n\n{part}" if run else part
    return [r for r in runs + [run] if 200 <= len(r) <= 1600]


if __name__ == "__main__":
    for part, kinds in zip(("training", "held out"), documents()):
        for kind, docs in kinds.items():
            print(part, kind, len(docs), sum(len(d.text) for d in docs) // 1_000_000, "MB", file=sys.stderr)
