"""Makes the starter's drafter, in stages:

    prompts     draws the prompts of parts ahead, for a machine without the texts; only if it is named
    answers     lets the starter answer prompts from the texts of this machine
    chats       lets it write questions and answer them
    held-out    does both once more, with texts and questions that no drafter learns from
    drafter     trains the drafter on the answers, into the cache
    export      writes it into --out
    acceptance  measures tokens per verify of the drafter, before it is packed

    python build/starter/run.py --starter DIR [--stage NAME] [--cache DIR] [--out DIR] ...

DIR is the starter as build/fixtures/_starter_folder.py writes it. `go run ./build starter` gives
it. The packages are those of build/pocket/requirements.txt, and the training loop is that of
build/pocket.

With --device cuda a GPU answers and learns, also on a machine without the texts. The stage export
runs on a CPU. The target's states take 16 GB of the cache for a million answered tokens. After an
interruption the next run continues from the last save. To begin from nothing, remove the cache folder
($TANDEM_CACHE).
"""

import argparse
import os
import sys

# Waiting threads then leave the cores to others. torch reads this when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "pocket"))

import torch
from tokenizers import Tokenizer

import answers
import acceptance
import drafter
import export
from dflash2 import Config, Drafter
from prompts import Prompts
from target import Target
from texts import documents

STAGES = ["prompts", "answers", "chats", "held-out", "drafter", "export", "acceptance"]


def arguments():
    parser = argparse.ArgumentParser(description="Trains the starter's drafter and writes it to --out.")
    parser.add_argument("--starter", help="the starter as a folder")
    parser.add_argument("--cache", default=os.environ.get("TANDEM_CACHE"), help="folder of answers and states (%(default)s)")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "..", "models", "starter", "drafter"), help="the drafter's folder (%(default)s)")
    parser.add_argument("--stage", choices=["all", *STAGES], default="all", help="do only this (%(default)s)")
    parser.add_argument("--tokens", type=int, default=1_050_000, help="answered tokens to learn from, on texts of the machine (%(default)s)")
    parser.add_argument("--chats", type=int, default=600_000, help="the same, on questions of the starter (%(default)s)")
    parser.add_argument("--draw", type=int, default=60, help="parts whose prompts the stage prompts draws (%(default)s)")
    parser.add_argument("--held-out", type=int, default=60_000, help="answered tokens to measure on, of each (%(default)s)")
    parser.add_argument("--minutes", type=float, default=240, help="training time in all, of busy cores (%(default)s)")
    parser.add_argument("--head", type=int, default=16384, help="tokens that can be guessed (%(default)s)")
    parser.add_argument("--rank", type=int, default=Config.selector_rank, help="of the selector (%(default)s)")
    parser.add_argument("--share", type=int, default=1, help="learn from one part of so many of the answers (%(default)s)")
    parser.add_argument("--first", action="store_true", help="a first DFlash, without convolutions and selector, for comparison")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (%(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the training (%(default)s)")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="(%(default)s)")
    args = parser.parse_args()
    if not args.cache or not args.starter:
        parser.error("--cache and --starter are needed; `go run ./build starter` gives both")
    return args


def log(line):
    print(line, flush=True)


class Recipe:
    """The stages. Each reads the files that the stage before it left in the cache or in out."""

    def __init__(self, args):
        self.args = args
        self.tokenizer = Tokenizer.from_file(os.path.join(args.starter, "tokenizer.json"))

    def folder(self, name):
        return os.path.join(self.args.cache, name)

    def target(self):
        return Target(self.args.starter, Config.target_layer_ids)

    def prompts(self):
        drawn = Prompts(documents()[False], self.tokenizer, False)
        answers.write_prompts(self.folder("answers-prompts.npz"), drawn, self.args.draw, log)

    def write(self, name, tokens):
        answers.write(self.args.starter, self.tokenizer, self.folder(name), tokens, self.args.processes, log)

    def answers(self):
        self.write("answers", self.args.tokens)

    def chats(self):
        self.write("chats", self.args.chats)

    def held_out(self):
        self.write("held-out", self.args.held_out)
        self.write("held-out-chats", self.args.held_out)

    def texts(self, *names, share=1):
        return drafter.Texts([self.folder(name) for name in names], share)

    def form(self):
        """Returns (the config asked for, its name in the cache)."""
        a = self.args
        if a.first:
            return Config(conv_kernel_size=0, selector_rank=0), f"first-head{a.head}"
        return Config(selector_rank=a.rank), f"rank{a.rank}-head{a.head}"

    def head(self):
        """Returns the ids of the most frequent tokens of answers, ascending. They are chosen once."""
        path = self.folder(f"head{self.args.head}.pt")
        if not os.path.exists(path):
            counts = torch.tensor(self.texts("answers", "chats").counts(Config.vocab_size))
            order = counts.argsort(descending=True, stable=True)[: self.args.head]
            log(f"a head of {self.args.head} tokens has {counts[order].sum() / counts.sum():.4f} of the answered ones")
            torch.save(order.sort().values, path)
        return torch.load(path, map_location=self.args.device, weights_only=True)

    def fresh(self):
        """Returns (a drafter that learned nothing yet, path of its state)."""
        config, name = self.form()
        return Drafter(config, self.head()), self.folder(name + ".pt")

    def trained(self):
        """Returns the drafter as it was trained so far."""
        model, path = self.fresh()
        if not os.path.exists(path):
            sys.exit(f"{path} is missing: no such drafter was trained; run the stage drafter with the same arguments first")
        model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True)["model"])
        return model

    def drafter(self):
        os.nice(answers.NICE - os.nice(0))
        target, texts = self.target(), self.texts("answers", "chats", share=self.args.share)
        model, path = self.fresh()
        if not os.path.exists(path):
            model.start(target, texts.batch(0)[1][:4])
        log(f"{len(texts.texts)} answers, {texts.answered()} tokens; {sum(p.numel() for p in model.parameters())} parameters")
        drafter.train(model, target, texts, path, self.args.minutes, log)

    def export(self):
        export.drafter(self.trained(), self.args.out)

    def acceptance(self):
        model, target, texts = self.trained(), self.target(), self.texts("held-out", "held-out-chats")
        for rows in (4, 8):
            acceptance.report(model, target, texts, rows, log)


def main():
    args = arguments()
    torch.set_default_device(args.device)
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    recipe = Recipe(args)
    for stage in STAGES[1:] if args.stage == "all" else [args.stage]:
        getattr(recipe, stage.replace("-", "_"))()


if __name__ == "__main__":
    main()
