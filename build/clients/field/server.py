"""Starts servers of Tandem and asks them."""

import http.client
import json
import os
import pty
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

from checks import Wrong


class Answer:
    def __init__(self, status, headers, text):
        self.status, self.headers, self.text = status, headers, text

    @property
    def json(self):
        return json.loads(self.text)

    def events(self):
        """Returns the data of the stream's events as objects."""
        return [json.loads(line[6:]) for line in self.text.splitlines() if line.startswith("data: ") and line != "data: [DONE]"]

    def __str__(self):
        return f"{self.status} {self.text}"


class Server:
    """A tandem serve with a home of its own."""

    def __init__(self, program, folder, *flags, home=None, env=None):
        self.program = program
        self.home = home or tempfile.mkdtemp(prefix="home-", dir=folder)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": self.home,
            "TANDEM_HOME": self.home + "/tandem",
            "HF_HOME": self.home + "/hf",
            "HF_HUB_OFFLINE": "1",
            "LANG": "C.UTF-8",
        } | (env or {})
        self.log = open(tempfile.mktemp(prefix="log-", dir=folder), "w+")
        if "--model" not in flags:
            flags = ("--model", "pocket", *flags)
        self.process = subprocess.Popen(
            [program, "serve", "--addr", "127.0.0.1:0", *flags], env=self.env, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        if not found:
            self.process.wait(10)
            raise OSError(f"tandem serve says {line!r} and {self.said()!r}")
        self.port = int(found[1])

    def said(self):
        with open(self.log.name, errors="replace") as f:
            return f.read()

    def tandem(self, *args, timeout=50):
        """Runs the command line for this server's home. Returns its status and all that it prints."""
        done = subprocess.run([self.program, *args], env=self.env, capture_output=True, text=True, timeout=timeout, errors="replace")
        return done.returncode, done.stdout + done.stderr

    def shown(self, *args):
        """Runs the command line on a terminal without colours. Returns all that the terminal gets."""
        ours, theirs = pty.openpty()
        env = self.env | {"TERM": "xterm", "NO_COLOR": "1"}
        process, said = subprocess.Popen([self.program, *args], env=env, stdin=theirs, stdout=theirs, stderr=theirs), b""
        os.close(theirs)
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:
            pass  # the program has closed the terminal
        os.close(ours)
        process.wait()
        return said.decode(errors="replace").replace("\r\n", "\n")

    def send(self, method, path, body=None, headers=None, timeout=50):
        """Sends a request. A body that is no text is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        return exchange(connection, method, path, body, headers)

    def control(self, method, path, body=None, timeout=50):
        """Sends a request to the control socket."""
        connection = http.client.HTTPConnection("tandem", timeout=timeout)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(timeout)
        connection.sock.connect(self.home + "/tandem/run/control.sock")
        return exchange(connection, method, path, body, None)

    def post(self, path, body, **more):
        return self.send("POST", path, body, **more)

    def get(self, path, **more):
        return self.send("GET", path, **more)

    def chat(self, text="hi", timeout=50, **more):
        body = {"model": "tandem", "max_tokens": 8, "temperature": 0, "messages": [{"role": "user", "content": text}]} | more
        return self.post("/v1/chat/completions", body, timeout=timeout)

    def complete(self, prompt, timeout=50, **more):
        return self.post("/v1/completions", {"model": "tandem", "prompt": prompt, "max_tokens": 8, "temperature": 0} | more, timeout=timeout)

    def tree(self):
        """Returns the process ids of the server and its children."""
        parents = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat") as f:
                        parents[int(name)] = int(f.read().rpartition(")")[2].split()[1])
                except OSError:
                    pass  # it has ended
        found = [self.process.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found

    def memory(self):
        """Returns the bytes that the server and its children hold now."""
        held = 0
        for pid in self.tree():
            try:
                with open(f"/proc/{pid}/status") as f:
                    found = re.search(r"^VmRSS:\s+(\d+) kB", f.read(), re.M)
                    held += int(found[1]) << 10 if found else 0
            except OSError:
                pass
        return held

    def cpu(self):
        """Returns the seconds that the server and its children have computed."""
        ticks = 0
        for pid in self.tree():
            try:
                with open(f"/proc/{pid}/stat") as f:
                    fields = f.read().rpartition(")")[2].split()
                ticks += sum(int(fields[i]) for i in (11, 12, 13, 14))
            except OSError:
                pass
        return ticks / os.sysconf("SC_CLK_TCK")

    def busy(self, seconds):
        """Returns how many cores the process keeps busy."""
        before = self.cpu()
        time.sleep(seconds)
        return (self.cpu() - before) / seconds

    def watch(self, ask, seconds, most):
        """Returns what ask returns, the seconds that it takes and the most bytes that the server grows by meanwhile.

        At the most, and at the end of the seconds, the server is killed."""
        start, rest, peak, result = time.monotonic(), self.memory(), 0, []

        def work():
            try:
                result.append(ask())
            except Exception as e:
                result.append(Answer(0, {}, f"{type(e).__name__}: {e}"))

        threading.Thread(target=work, daemon=True).start()
        while not result:
            time.sleep(0.05)
            peak = max(peak, self.memory() - rest)
            took = time.monotonic() - start
            if peak > most or took > seconds:
                self.process.kill()
                raise Wrong(f"after {took:.1f} s without an answer the server has grown by {peak >> 20} MB")
        return result[0], time.monotonic() - start, peak

    def stop(self, limit=10):
        """Returns how many seconds the process takes to end after SIGTERM. At the limit it is killed."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()
        return time.monotonic() - start


def exchange(connection, method, path, body, headers):
    headers = dict(headers or {})
    if body is not None and not isinstance(body, (str, bytes)):
        body = json.dumps(body)
        headers.setdefault("Content-Type", "application/json")
    if isinstance(body, str):
        body = body.encode()
    try:
        connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        if body is not None:
            headers["Content-Length"] = str(len(body))
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        got = connection.getresponse()
        return Answer(got.status, got.headers, got.read().decode(errors="replace"))
    finally:
        connection.close()
