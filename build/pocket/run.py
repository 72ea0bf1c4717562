"""The pocket model from nothing: data, tokenizer, training, evaluation, export.

    python build/pocket/run.py [--cache DIR] [--minutes N] [--out DIR]

Needs Python 3.11 or newer with the packages of requirements.txt, `go` on the PATH, and a C++ compiler (torch.compile).
Whoever starts it makes the virtual environment, in a folder of the cache keyed by the content of requirements.txt:
python3 -m venv DIR, then DIR/bin/pip install -r build/pocket/requirements.txt (on x86-64 Linux torch brings CUDA's
libraries along, 5.5 GB in all, which are not used), then DIR/bin/python build/pocket/run.py.

Interrupted at any point it goes on from the last save when started again. To train anew, remove the cache folder
($TANDEM_CACHE, or tandem-dev/pocket in the user's cache folder).
"""

import argparse
import os
import sys

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait leave the cores to others; read when torch is loaded

import torch
from tokenizers import Tokenizer

import data
import evaluate
import export
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


def main():
    parser = argparse.ArgumentParser(description="Trains the pocket model and writes it to --out.")
    parser.add_argument("--cache", default=cache_folder(), help="folder of rows, checkpoint and curve (%(default)s)")
    parser.add_argument("--minutes", type=float, default=110, help="training time in all (%(default)s)")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "..", "models", "pocket"), help="the model's folder (%(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="(%(default)s)")
    parser.add_argument("--stage", choices=["all", "tokenizer", "train", "export", "evaluate"], default="all", help="do only this (%(default)s)")
    args = parser.parse_args()
    os.makedirs(args.cache, exist_ok=True)
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)

    def stage(name):
        return args.stage in ("all", name)

    print("reading the libraries", flush=True)
    train_docs, held_out_docs = data.split(data.documents())
    path = os.path.join(args.cache, "tokenizer.json")
    if not os.path.exists(path):
        print("training the tokenizer", flush=True)
        tokenizer.train(d.text for d in train_docs).save(path)
    t = Tokenizer.from_file(path)
    config = Config(vocab_size=t.get_vocab_size())
    model = Model(config)
    if stage("tokenizer"):
        export.settings(config, t, args.out)
    if stage("train"):
        held_out = data.plain_rows(held_out_docs, t, data.SHORT)[::8]
        train(model, Rows(train_docs, t, args.cache), held_out, args.cache, args.minutes, lambda s: print(s, flush=True))
    if stage("export") or stage("evaluate"):
        saved = torch.load(os.path.join(args.cache, "checkpoint.pt"), weights_only=True)
        model.load_state_dict(saved["model"])
    if stage("export"):
        export.weights(model, args.out)
    if stage("evaluate"):
        evaluate.report(model, t, train_docs, held_out_docs, saved["step"] * BATCH_TOKENS, args.cache)


if __name__ == "__main__":
    main()
