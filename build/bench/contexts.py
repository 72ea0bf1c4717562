"""The rival of `tandem-lab bench contexts`: mlx_lm's own generate_step, as in plain.py."""

import json
import sys

from plain import DECODE, PROMPT, header, ids, open_model, run

CONTEXTS, AFTER, CHUNK = (512, 4096, 7600), 65, 512  # the engine's chunk is 512 too


def main():
    model, vocab = open_model()
    tokens, _, _ = run(model, ids(PROMPT, vocab), DECODE, CHUNK)
    print(json.dumps(header(tokens)), flush=True)
    for _ in sys.stdin:
        metrics = {}
        for n in CONTEXTS:
            _, prefill, decode = run(model, ids(n, vocab), AFTER, CHUNK)
            metrics[f"prefill_of_{n}_per_second"] = n / prefill
            metrics[f"decode_at_{n}_per_second"] = (AFTER - 1) / decode
        print(json.dumps(metrics), flush=True)


if __name__ == "__main__":
    main()
