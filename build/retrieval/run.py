"""Makes the retrieval model, its drafter and its f_theta from nothing, in stages:

    tokenizer    writes the tokenizer and all settings into --out
    target       trains the model with full attention, into --out
    restoration  trains its drafter together with f_theta, into --out/drafter and --out/f_theta
    measure      measures the model card's figures, into --out/measured.json and --out/curve.svg

    python build/retrieval/run.py [--stage NAME] [--cache DIR] [--out DIR] [--minutes N] ...

Without --stage it runs all, one after the other. It needs the packages of
build/pocket/requirements.txt, and takes the drafter's form and the training loop from build/pocket.

After an interruption the next run continues from the last save. To train from nothing, remove the
cache folder ($TANDEM_CACHE).
"""

import argparse
import hashlib
import os
import sys

# Waiting threads then leave the cores to others. torch reads this when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "pocket"))

import torch
from tokenizers import Tokenizer

import dflash
import export
import folder
import ftheta
import measure
import prompts
import restoration
import target as recipe
import tokenizer
from batches import Encoder
from retriever import Config, Retriever

VOCAB_SIZE = 768
RANK = 128
CURVE_RANKS = (64, 48, 40, 32, 24, 16, 8, 2)  # measured beside RANK
DRAFTER = {"num_hidden_layers": 2, "intermediate_size": 192, "rope_theta": Config.rope_theta, "target_layer_ids": (0, 1, 2)}
STAGES = ["tokenizer", "target", "restoration", "measure"]
FITTED = 8  # prompts that lower ranks are fitted on


def arguments():
    parser = argparse.ArgumentParser(description="Trains the retrieval model, its drafter and its f_theta and writes them to --out.")
    parser.add_argument("--cache", default=os.environ.get("TANDEM_CACHE"), help="folder of the states of the training (%(default)s)")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "..", "models", "retrieval"), help="the model's folder (%(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="(%(default)s)")
    parser.add_argument("--stage", choices=["all", *STAGES], default="all", help="do only this (%(default)s)")
    parser.add_argument("--minutes", type=float, default=18, help="training time of the target (%(default)s)")
    parser.add_argument("--restoration-minutes", type=float, default=25, help="the same of drafter and f_theta (%(default)s)")
    parser.add_argument("--samples", type=int, default=40, help="prompts of an evaluation (%(default)s)")
    args = parser.parse_args()
    if not args.cache:
        parser.error("--cache or $TANDEM_CACHE is needed")
    return args


def log(line):
    print(line, flush=True)


class Recipe:
    """The stages. Each reads the files that the stage before it left in the cache or in out."""

    def __init__(self, args):
        self.args = args
        os.makedirs(args.cache, exist_ok=True)
        os.makedirs(args.out, exist_ok=True)

    def tokenizer(self):
        t = tokenizer.train(prompts.corpus(), VOCAB_SIZE)
        folder.settings(Config(vocab_size=t.get_vocab_size()), t, self.args.out)

    def target(self):
        model = Retriever(self.config())
        recipe.train(model, self.encoder(), os.path.join(self.args.cache, "target.pt"), self.args.minutes, log)
        export.weights(model, self.args.out, torch.float32)

    def restoration(self):
        target = self.trained()
        drafter = dflash.Drafter(self.drafter_config())
        drafter.norm.weight.data.copy_(target.norm.weight)  # the shared head was trained under it
        pair = restoration.Pair(drafter, ftheta.FTheta(drafter.config, target.config, RANK))
        path = os.path.join(self.args.cache, f"restoration-{digest(self.args.out)}.pt")
        restoration.train(pair, target, self.encoder(), path, self.args.restoration_minutes, log)
        export.drafter(drafter, self.place("drafter"), torch.float32)
        folder.f_theta(pair.f_theta, self.place("f_theta"))

    def measure(self):
        f_theta, reading = self.restorer()
        lower = [f_theta.reduced(rank, *reading) for rank in CURVE_RANKS]
        results = measure.report(self.trained(), self.drafter(), f_theta, lower, self.encoder(), self.args.samples, log)
        export.write_json(self.place("measured.json"), results)
        with open(self.place("curve.svg"), "w") as f:
            f.write(measure.svg(results["curve"]))

    def restorer(self):
        """Returns (the f_theta, keys and values of the drafter's stack on prompts to fit lower ranks on)."""
        target, drafter = self.trained(), self.drafter()
        texts = measure.Texts(target, drafter, self.encoder(), "ctx70", FITTED, prompts.SEED + 1)
        reading = [torch.cat([stack[i].flatten(0, 1) for *_, stack in texts.batches]) for i in range(2)]
        return folder.load_f_theta(drafter.config, target.config, self.place("f_theta")), reading

    def drafter(self):
        drafter = dflash.Drafter(self.drafter_config())
        if not export.load_drafter(drafter, self.place("drafter")):
            raise SystemExit(f"{self.args.out} has no drafter of this form; run stage restoration first")
        return drafter.requires_grad_(False)

    def place(self, name):
        return os.path.join(self.args.out, name)

    def encoder(self):
        return Encoder(Tokenizer.from_file(self.place("tokenizer.json")))

    def config(self):
        return Config(vocab_size=self.encoder().tokens.get_vocab_size())

    def trained(self):
        model = Retriever(self.config())
        export.load(model, self.args.out)
        return model.requires_grad_(False)

    def drafter_config(self):
        c = self.config()
        mask = self.encoder().tokens.token_to_id("<|mask|>")
        return dflash.Config(vocab_size=c.vocab_size, hidden_size=c.hidden_size, num_target_layers=c.num_hidden_layers, mask_token_id=mask, **DRAFTER)


def digest(out):
    """Returns a short hash of the weights in a folder."""
    with open(os.path.join(out, "model.safetensors"), "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()[:12]


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    made = Recipe(args)
    for stage in STAGES if args.stage == "all" else [args.stage]:
        log(f"stage {stage}")
        getattr(made, stage)()


if __name__ == "__main__":
    main()
