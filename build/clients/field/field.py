"""Sends Tandem what real clients, published models and hostile files hold, and prints what comes.

python field.py TANDEM [KEY...]   (TANDEM is the program; keys, or their letters, choose checks: w, m4, s)
"""

import importlib
import os
import shutil
import subprocess
import sys
import tempfile

import checks
from server import Server

PROGRAM = os.path.abspath(sys.argv[1])


class Stage:
    """Makes what checks need. What several need is made once."""

    def __init__(self, folder):
        self.folder, self.made, self.servers, self.disks = folder, {}, [], []

    def __call__(self, needs):
        if needs is None:
            return ()
        if callable(needs):
            return needs(self)
        if needs not in self.made:
            self.made[needs] = getattr(self, needs)()
        return self.made[needs]

    def serve(self, *flags, **more):
        s = Server(PROGRAM, self.folder, *flags, **more)
        self.servers.append(s)
        return s

    def pocket(self):
        return (self.serve("--model", "pocket", "--allow-origin", "http://page.example"),)

    def models(self):
        """A server with room for further models."""
        return self.serve("--model", "pocket"), self

    def keyed(self):
        """A server that wants a key, and the key."""
        s = self.serve("--model", "pocket")
        made = s.control("POST", "/app/keys", {"name": "field"}).json
        s.control("POST", "/app/settings", {"require_key": True})
        if s.get("/v1/models").status != 401:
            raise OSError("the server wants no key")
        return s, next(v for v in made.values() if isinstance(v, str) and len(v) > 20)

    def embedder(self):
        """A server, and the id of a model of embeddings with a context of 1,024 tokens."""
        s, models = self.serve("--model", "pocket"), importlib.import_module("models")
        return s, models.asked(s, self, "embedder", kind="qwen3", files={"tokenizer.json": models.tiny.tokenizer() | models.ENDS})

    def tested(self):
        return importlib.import_module("held").tested()

    def program(self):
        home = tempfile.mkdtemp(prefix="home-", dir=self.folder)
        return PROGRAM, {"PATH": os.environ["PATH"], "HOME": home, "TANDEM_HOME": home + "/tandem", "HF_HOME": home + "/hf"}

    def small_disk(self):
        """A folder on a disk of its own, of 40 MB."""
        disk = os.path.join(self.folder, "disk")
        os.mkdir(disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", disk], check=True, capture_output=True)
        self.disks.append(disk)
        return disk, self

    def close(self):
        for s in self.servers:
            if s.process.poll() is None:
                s.process.kill()
                s.process.wait()
        for disk in self.disks:
            subprocess.run(["umount", disk], check=True)


for module in "wire", "tools", "limits", "forms", "models", "bombs", "hostile", "held":
    importlib.import_module(module)  # it adds its checks
folder = tempfile.mkdtemp(prefix="tandem-field-")
stage = Stage(folder)
try:
    right = checks.run(sys.argv[2:], stage)
finally:
    stage.close()
    shutil.rmtree(folder, ignore_errors=True)
sys.exit(0 if right else 1)
