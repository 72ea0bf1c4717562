"""Lets lm-eval score texts by the starter, and compares the scores with mlx_lm's.

python scores.py BASE_URL TOKENIZER   (TOKENIZER is a folder with the starter's tokenizer.json)
"""

import os
import sys

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

from lm_eval.api.instance import Instance  # noqa: E402
from lm_eval.api.registry import get_model  # noqa: E402

from checks import check, run  # noqa: E402
from starter import recorded  # noqa: E402

CLOSE = 1e-4  # nats


def scores():
    rows = recorded("scores.json")
    check(len(rows) >= 20, f"{len(rows)} scores are recorded")
    model = get_model("local-completions")(model="starter", base_url=sys.argv[1] + "/v1/completions", tokenizer=sys.argv[2], max_length=2048, max_retries=1)
    asked = [Instance(request_type="loglikelihood", doc={}, arguments=(r["context"], r["continuation"]), idx=i) for i, r in enumerate(rows)]
    worst = 0.0
    for row, (said, _) in zip(rows, model.loglikelihood(asked), strict=True):
        worst = max(worst, abs(said - row["score"]))
        check(abs(said - row["score"]) <= CLOSE, f"{row}: lm-eval has {said}")
    print(f"{len(rows)} scores are at most {worst:.1e} from mlx_lm's")


run({"lm-eval's loglikelihoods equal mlx_lm's within 1e-4": scores})
