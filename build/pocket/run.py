"""Makes the pocket model and its drafter from nothing, in stages:

    tokenizer   writes the tokenizer and all settings into --out
    train       trains the model, the target of speculation
    joint       trains it again, together with a drafter, see joint.py
    export      writes its weights into --out
    evaluate    measures the model card's figures
    generate    writes text by the model in --out
    drafter     trains that model's drafter on that text, into --out/drafter
    acceptance  measures tokens per verify forward of the drafter in --out, beside a random one
    parity      records the training forward as a fixture of models/dflash

    python build/pocket/run.py [--stage NAME] [--cache DIR] [--out DIR] [--minutes N] ...

Without --stage it runs all but parity, one after the other. It needs:
- Python 3.11 or newer with the packages of requirements.txt
- `go` on the PATH
- a C++ compiler, for torch.compile

The caller makes the virtual environment, in a cache folder keyed by the content of
requirements.txt:

    python3 -m venv DIR
    DIR/bin/pip install -r build/pocket/requirements.txt
    DIR/bin/python build/pocket/run.py

On x86-64 Linux torch installs CUDA's libraries too, 5.5 GB in all. They are not used.

After an interruption the next run continues from the last save. Texts and drafters belong to one
model and lie under its hash. To train from nothing, remove the cache folder ($TANDEM_CACHE, or
tandem-dev/pocket in the user's cache folder).
"""

import argparse
import hashlib
import os
import random
import sys

# Waiting threads then leave the cores to others. torch reads this when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from tokenizers import Tokenizer

import acceptance
import data
import dflash
import drafter
import evaluate
import export
import generate
import joint
import parity
import tokenizer
from model import Config, Model
from train import BATCH_TOKENS, Rows, train

HERE = os.path.dirname(os.path.abspath(__file__))


def cache_folder():
    if "TANDEM_CACHE" in os.environ:
        return os.environ["TANDEM_CACHE"]
    if sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "tandem-dev", "pocket")


STAGES = ["tokenizer", "train", "joint", "export", "evaluate", "generate", "drafter", "acceptance"]


def arguments():
    parser = argparse.ArgumentParser(description="Trains the pocket model and its drafter and writes them to --out.")
    parser.add_argument("--cache", default=cache_folder(), help="folder of rows, checkpoints, texts and curve (%(default)s)")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "..", "models", "pocket"), help="the model's folder (%(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="(%(default)s)")
    parser.add_argument("--stage", choices=["all", *STAGES, "parity"], default="all", help="do only this (%(default)s)")
    parser.add_argument("--minutes", type=float, default=110, help="training time in all (%(default)s)")
    parser.add_argument("--joint-minutes", type=float, default=60, help="the same of joint (%(default)s)")
    parser.add_argument("--drafter-minutes", type=float, default=40, help="the same of the drafter (%(default)s)")
    parser.add_argument("--tokens", type=int, default=1_500_000, help="text for the drafter to learn from (%(default)s)")
    parser.add_argument("--layers", type=int, default=dflash.Config.num_hidden_layers, help="of the drafter, as many as stage joint has or fewer (%(default)s)")
    parser.add_argument("--block", type=int, choices=[4, 8, 16], default=dflash.Config.block_size, help="rows of a block (%(default)s)")
    return parser.parse_args()


def log(line):
    print(line, flush=True)


class Recipe:
    """The stages. Each reads the files that the stage before it left in the cache or in out."""

    def __init__(self, args):
        self.args = args
        os.makedirs(args.cache, exist_ok=True)
        log("reading the libraries")
        self.train_docs, self.held_out_docs = data.split(data.documents())
        path = os.path.join(args.cache, "tokenizer.json")
        if not os.path.exists(path):
            log("training the tokenizer")
            whole, _ = data.split(data.documents(comments=True))  # prompts have comments
            tokenizer.train(d.text for d in whole).save(path)
        self.tokens = Tokenizer.from_file(path)
        self.config = Config(vocab_size=self.tokens.get_vocab_size())
        self.rows = Rows(self.train_docs, self.tokens, args.cache)

    def tokenizer(self):
        export.settings(self.config, self.tokens, self.args.out)

    def train(self):
        train(Model(self.config), self.rows, self.held_out(), self.args.cache, self.args.minutes, log)

    def joint(self):
        saved = self.trained()
        pair = joint.Pair(Model(self.config), self.drafter_config())
        pair.model.load_state_dict(saved["model"])
        pair.drafter.start(pair.model)
        path, origin = self.joint_path(saved["step"]), None
        if saved["exported"]:
            export.load_drafter(pair.drafter, os.path.join(self.args.out, "drafter"))
            origin = digest(self.args.out)
        joint.run(pair, self.rows, saved["step"], self.held_out(), path, self.args.joint_minutes, origin, log)

    def export(self):
        pair, _ = self.joined()
        export.weights(pair.model, self.args.out)

    def evaluate(self):
        pair, steps = self.joined()
        evaluate.report(pair.model, self.tokens, self.train_docs, self.held_out_docs, steps * BATCH_TOKENS, self.args.cache)

    def generate(self):
        target = Target(self.config, self.args)
        generate.write(target.model, self.prompts(), self.tokens, target.texts, self.args.tokens, self.args.threads, log)

    def drafter(self):
        target, shape = Target(self.config, self.args), self.variant()
        model, rate = dflash.Drafter(shape), drafter.RATE
        if os.path.exists(self.joint_path(self.trained()["step"])):
            pair, _ = self.joined()
            # A drafter of fewer layers takes the first ones.
            model.load_state_dict({name: p for name, p in pair.drafter.state_dict().items() if name in model.state_dict()})
        else:  # without a state of stage joint, a variant continues from the drafter in out
            self.exported(model, "drafter")
            rate = drafter.VARIANT_RATE
        drafter.train(model, target.model, drafter.Texts(target.texts), target.drafter(shape), self.args.drafter_minutes, rate, log)
        export.drafter(model, os.path.join(self.args.out, drafter_name(shape)))

    def acceptance(self):
        target = Target(self.config, self.args)
        _, docs = data.split(data.documents(comments=True))  # people's files have comments
        held_out = data.plain_rows([d for d in docs if d.language == "Go"], self.tokens, data.SHORT)
        picks = random.Random(0).sample(range(len(held_out)), acceptance.TEXTS)
        prompts = held_out[picks, : acceptance.PROMPT].astype("int64")
        stops = {self.tokens.token_to_id("<|endoftext|>"), self.tokens.token_to_id("<|im_end|>")}
        shape = self.variant()
        drafters, name = {"random": dflash.Drafter(shape)}, drafter_name(shape)
        if os.path.exists(os.path.join(self.args.out, name)):
            drafters[name] = self.exported(dflash.Drafter(shape), name)
        acceptance.report(drafters, target.model, prompts, stops, log)

    def exported(self, model, name):
        """Returns model with the weights of the drafter's folder name in out."""
        if not export.load_drafter(model, os.path.join(self.args.out, name)):
            raise SystemExit(f"{self.args.out} has no {name} of this form; run stages joint and drafter first")
        return model

    def held_out(self):
        return data.plain_rows(self.held_out_docs, self.tokens, data.SHORT)[::8]

    def prompts(self):
        """Returns prompts from the model's training text. Comments stay: real prompts have them."""
        docs, _ = data.split(data.documents(comments=True))
        return generate.Prompts(data.render_pass(docs, self.tokens, 0)[data.SHORT], self.tokens)

    def trained(self):
        """Returns {"model", "step", "exported"}, the state that stage train left.

        On a machine without it these are the weights in out, at step 0.
        """
        path = os.path.join(self.args.cache, "checkpoint.pt")
        if os.path.exists(path):
            return torch.load(path, weights_only=True) | {"exported": False}
        model = Model(self.config)
        export.load(model, self.args.out)
        return {"model": model.state_dict(), "step": 0, "exported": True}

    def joint_path(self, step):
        """Returns the path of stage joint's state.

        Stage joint continues from a step of stage train.
        """
        return os.path.join(self.args.cache, f"joint-{dflash.Config.num_hidden_layers}-{step}.pt")

    def joined(self):
        """Returns (the pair that stage joint left, number of batches that its model has seen)."""
        step = self.trained()["step"]
        saved = torch.load(self.joint_path(step), weights_only=True)
        pair = joint.Pair(Model(self.config), self.drafter_config())
        pair.load_state_dict(saved["model"])
        return pair, step + saved["step"]

    def drafter_config(self, **form):
        return dflash.Config(
            vocab_size=self.config.vocab_size,
            hidden_size=self.config.hidden_size,
            num_target_layers=self.config.num_hidden_layers,
            mask_token_id=self.tokens.token_to_id("<|mask|>"),
            **form,
        )

    def variant(self):
        """Returns the config of the drafter asked for."""
        return self.drafter_config(num_hidden_layers=self.args.layers, block_size=self.args.block)


class Target:
    """The exported model, frozen, and the cache folder for its texts and drafters."""

    def __init__(self, config, args):
        self.model = Model(config)
        export.load(self.model, args.out)
        self.model.requires_grad_(False)
        self.folder = os.path.join(args.cache, "target-" + digest(args.out))
        os.makedirs(self.folder, exist_ok=True)
        self.texts = os.path.join(self.folder, "texts")

    def drafter(self, config):
        """Returns the path of a drafter's state."""
        return os.path.join(self.folder, drafter_name(config) + ".pt")


def digest(folder):
    """Returns a short hash of the weights in folder."""
    with open(os.path.join(folder, "model.safetensors"), "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()[:12]


def drafter_name(config):
    """Returns the name of a drafter's state in the cache and of its folder in --out."""
    name = "drafter"
    if config.block_size != dflash.Config.block_size:
        name += f"-block{config.block_size}"
    if config.num_hidden_layers != dflash.Config.num_hidden_layers:
        name += f"-layers{config.num_hidden_layers}"
    return name


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    if args.stage == "parity":
        parity.record(os.path.join(HERE, "..", "..", "models", "dflash", "testdata", "parity"))
        return
    recipe = Recipe(args)
    for stage in STAGES if args.stage == "all" else [args.stage]:
        getattr(recipe, stage)()


if __name__ == "__main__":
    main()
