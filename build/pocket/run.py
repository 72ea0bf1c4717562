"""The pocket model and its drafter from nothing, in stages:

    tokenizer   the tokenizer and all settings, into --out
    train       the model, the target of speculation
    unloop      it again, against looping; a trial, see unloop.py
    export      its weights, into --out
    evaluate    what the model card says of it
    generate    text by the model in --out
    drafter     the drafter of that model on that text, into --out/drafter (--sliding: --out/drafter-sliding)
    acceptance  tokens per verify forward of the drafters in the cache, beside a random one
    parity      what the training forward computes, as a fixture of models/dflash

    python build/pocket/run.py [--stage NAME] [--cache DIR] [--out DIR] [--minutes N] ...

Without --stage all but unloop and parity, one after the other. Needs Python 3.11 or newer with the packages of requirements.txt, `go` on the
PATH, and a C++ compiler (torch.compile).
Whoever starts it makes the virtual environment, in a folder of the cache keyed by the content of requirements.txt:
python3 -m venv DIR, then DIR/bin/pip install -r build/pocket/requirements.txt (on x86-64 Linux torch brings CUDA's
libraries along, 5.5 GB in all, which are not used), then DIR/bin/python build/pocket/run.py.

Interrupted at any point it goes on from the last save when started again. Texts and drafters belong to one model and lie under
its hash. To train anew, remove the cache folder ($TANDEM_CACHE, or tandem-dev/pocket in the user's cache folder).
"""

import argparse
import hashlib
import os
import random
import sys

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait leave the cores to others; read when torch is loaded

import torch
from tokenizers import Tokenizer

import acceptance
import data
import dflash
import drafter
import evaluate
import export
import generate
import parity
import tokenizer
from model import Config, Model
from train import BATCH_TOKENS, Rows, train
from unloop import unloop

HERE = os.path.dirname(os.path.abspath(__file__))


def cache_folder():
    if "TANDEM_CACHE" in os.environ:
        return os.environ["TANDEM_CACHE"]
    if sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "tandem-dev", "pocket")


STAGES = ["tokenizer", "train", "export", "evaluate", "generate", "drafter", "acceptance"]


def arguments():
    parser = argparse.ArgumentParser(description="Trains the pocket model and its drafter and writes them to --out.")
    parser.add_argument("--cache", default=cache_folder(), help="folder of rows, checkpoints, texts and curve (%(default)s)")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "..", "models", "pocket"), help="the model's folder (%(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="(%(default)s)")
    parser.add_argument("--stage", choices=["all", *STAGES, "unloop", "parity"], default="all", help="do only this (%(default)s)")
    parser.add_argument("--minutes", type=float, default=110, help="training time in all (%(default)s)")
    parser.add_argument("--unloop-minutes", type=float, default=20, help="the same of unloop (%(default)s)")
    parser.add_argument("--drafter-minutes", type=float, default=40, help="the same of the drafter (%(default)s)")
    parser.add_argument("--tokens", type=int, default=1_500_000, help="text for the drafter to learn from (%(default)s)")
    parser.add_argument("--layers", type=int, default=dflash.Config.num_hidden_layers, help="of the drafter (%(default)s)")
    parser.add_argument("--block", type=int, choices=[4, 8, 16], default=dflash.Config.block_size, help="rows of a block (%(default)s)")
    parser.add_argument("--sliding", action="store_true", help="make the drafter's first layer a sliding one")
    return parser.parse_args()


def drafter_name(config):
    """What a drafter's state in the cache, and its folder in --out, is called."""
    name = "drafter-sliding" if config.sliding_layers else "drafter"
    if config.block_size != dflash.Config.block_size:
        name += f"-block{config.block_size}"
    if config.num_hidden_layers != dflash.Config.num_hidden_layers:
        name += f"-layers{config.num_hidden_layers}"
    return name


def trained(model, cache):
    """Loads the target as the last of its trainings left it; the step of the main one."""
    saved = torch.load(os.path.join(cache, "checkpoint.pt"), weights_only=True)
    model.load_state_dict(saved["model"])
    path = unloop_path(cache, saved["step"])
    if os.path.exists(path):
        model.load_state_dict(torch.load(path, weights_only=True)["model"])
    return saved["step"]


def unloop_path(cache, step):
    return os.path.join(cache, f"unloop-{step}.pt")


class Target:
    """The exported model and the folder of the cache that holds what depends on it."""

    def __init__(self, config, out, cache):
        self.model = Model(config)
        export.load(self.model, out)
        self.model.requires_grad_(False)
        with open(os.path.join(out, "model.safetensors"), "rb") as f:
            digest = hashlib.file_digest(f, "sha256").hexdigest()
        self.folder = os.path.join(cache, "target-" + digest[:12])
        os.makedirs(self.folder, exist_ok=True)
        self.texts = os.path.join(self.folder, "texts")


def draft_stages(args, stage, config, t, rows, held_out_docs):
    target = Target(config, args.out, args.cache)
    if stage("generate"):
        rows.load(0)
        prompts = generate.Prompts(rows.passes[0][data.SHORT], t)
        generate.write(target.model, prompts, t, target.texts, args.tokens, log)
    shape = dflash.Config(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_target_layers=config.num_hidden_layers,
        mask_token_id=t.token_to_id("<|mask|>"),
        num_hidden_layers=args.layers,
        block_size=args.block,
        sliding_layers=(0,) if args.sliding else (),
    )
    name = drafter_name(shape)
    path = os.path.join(target.folder, name + ".pt")
    if stage("drafter"):
        model = dflash.Drafter(shape)
        model.start(target.model)
        drafter.train(model, target.model, drafter.Texts(target.texts), path, args.drafter_minutes, log)
        export.drafter(model, os.path.join(args.out, name))
    if stage("acceptance"):
        held_out = data.plain_rows([d for d in held_out_docs if d.language == "Go"], t, data.SHORT)
        picks = random.Random(0).sample(range(len(held_out)), acceptance.TEXTS)
        prompts = held_out[picks, : acceptance.PROMPT].astype("int64")
        stops = {t.token_to_id("<|endoftext|>"), t.token_to_id("<|im_end|>")}
        drafters = {name: drafter.load(shape, path), "random": dflash.Drafter(shape)}
        acceptance.report(drafters, target.model, prompts, stops, log)


def log(line):
    print(line, flush=True)


def main():
    args = arguments()
    os.makedirs(args.cache, exist_ok=True)
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)

    def stage(*names):
        return args.stage in ("all", *names)

    if args.stage == "parity":
        parity.record(os.path.join(HERE, "..", "..", "models", "dflash", "testdata", "parity"))
        return
    log("reading the libraries")
    train_docs, held_out_docs = data.split(data.documents())
    path = os.path.join(args.cache, "tokenizer.json")
    if not os.path.exists(path):
        log("training the tokenizer")
        tokenizer.train(d.text for d in train_docs).save(path)
    t = Tokenizer.from_file(path)
    config = Config(vocab_size=t.get_vocab_size())
    model = Model(config)
    rows = Rows(train_docs, t, args.cache)
    if stage("tokenizer"):
        export.settings(config, t, args.out)
    if stage("train"):
        held_out = data.plain_rows(held_out_docs, t, data.SHORT)[::8]
        train(model, rows, held_out, args.cache, args.minutes, log)
    if args.stage == "unloop":
        saved = torch.load(os.path.join(args.cache, "checkpoint.pt"), weights_only=True)
        model.load_state_dict(saved["model"])
        rows.load(0)
        prompts = generate.Prompts(rows.passes[0][data.SHORT], t)
        unloop(model, rows, prompts, unloop_path(args.cache, saved["step"]), args.unloop_minutes, log)
    if stage("export", "evaluate"):
        step = trained(model, args.cache)
    if stage("export"):
        export.weights(model, args.out)
    if stage("evaluate"):
        evaluate.report(model, t, train_docs, held_out_docs, step * BATCH_TOKENS, args.cache)
    if stage("generate", "drafter", "acceptance"):
        draft_stages(args, stage, config, t, rows, held_out_docs)


if __name__ == "__main__":
    main()
