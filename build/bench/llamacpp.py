"""The rival of `tandem bench plain --context N...` on a GGUF file: llama.cpp, by PyPI's xllamacpp.

Speaks the protocol of package build/bench, as plain.py does. The file comes in TANDEM_BENCH_MODEL, the contexts as
arguments. llama.cpp has its own defaults, but neither drafts nor what it kept of earlier prompts.
"""

import json
import os
import platform
import re
import sys
from importlib.metadata import version

import xllamacpp as xlc

AFTER = 65  # tokens that Tandem decodes after each prompt
BAR = 0.9  # that Tandem's decoding is to reach of llama.cpp's


def run(server, n):
    """Reads Tandem's prompt of n tokens and decodes; returns the tokens per second of both."""
    prompt = [100 + i * 37 % 3900 for i in range(n)]
    answer = server.handle_completions({
        "prompt": prompt, "n_predict": AFTER, "temperature": 0, "cache_prompt": False, "ignore_eos": True,
    })
    timings = answer.get("timings")
    if not timings or (timings["prompt_n"], timings["predicted_n"]) != (n, AFTER):
        sys.exit(f"llama.cpp did not read {n} tokens and decode {AFTER}, but said {json.dumps(answer)[:500]}")
    # Its first token is timed with the prompt, as Tandem's is.
    return 1000 * n / timings["prompt_ms"], 1000 * (AFTER - 1) / timings["predicted_ms"]


def main():
    contexts = [int(n) for n in sys.argv[1:]]
    threads = int(os.environ.get("OPENBLAS_NUM_THREADS", os.cpu_count()))
    params = xlc.CommonParams()
    params.model.path = os.environ["TANDEM_BENCH_MODEL"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_ctx = max(contexts) + AFTER
    params.n_parallel = 1
    params.cache_ram_mib = 0
    params.verbosity = 1  # errors
    server = xlc.Server(params)
    run(server, min(contexts))  # once unmeasured
    print(json.dumps({
        "side": "llama.cpp",
        "dtype": "as in the file",
        "threads": threads,
        "blas": "kernels for " + " ".join(re.findall(r"(\w+) = 1", xlc.get_system_info())),
        "bars": {f"decode_at_{n}_per_second": BAR for n in contexts},
        "versions": {"xllamacpp": version("xllamacpp"), "python": platform.python_version()},
    }), flush=True)
    for _ in sys.stdin:
        metrics = {}
        for n in contexts:
            metrics[f"prefill_of_{n}_per_second"], metrics[f"decode_at_{n}_per_second"] = run(server, n)
        print(json.dumps(metrics), flush=True)


if __name__ == "__main__":
    main()
