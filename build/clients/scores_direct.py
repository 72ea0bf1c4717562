"""Scores the tokens of scores.py again, by the weights alone: mlx_lm runs the model, without a server.

python scores_direct.py MODEL SCORES   (the pocket model's folder, and the file that scores.py wrote)
"""

import json
import pathlib
import sys

import mlx.core as mx
from mlx_lm.utils import load_model

from checks import check, run

CLOSE = 1e-3  # nats per sum; the sums are of float32 in another order

mx.set_default_device(mx.cpu)
model, _ = load_model(pathlib.Path(sys.argv[1]))
model.set_dtype(mx.float32)  # as Tandem computes on the CPU
scores = json.loads(pathlib.Path(sys.argv[2]).read_text())


def direct():
    check(len(scores) > 20, f"{len(scores)} scores")
    worst = 0.0
    for s in scores:
        logits = model(mx.array([s["ids"]]))[0, :-1]
        logprobs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
        said = mx.take_along_axis(logprobs, mx.array(s["ids"][1:])[:, None], axis=-1)[:, 0][s["context"] - 1 :]
        total = sum(said.tolist())
        check(abs(total - s["score"]) < CLOSE, f"{s}: mlx_lm has {total}")
        worst = max(worst, abs(total - s["score"]))
    print(f"note {len(scores)} scores are at most {worst:.1e} from mlx_lm's")


run({"scores by the weights alone": direct})
