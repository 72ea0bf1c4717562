"""The rival of `tandem bench plain`: mlx_lm's own generate_step on the same model.

Speaks the protocol of package build/bench: a header, then one measurement for each line on standard input. The folder of
the model comes in TANDEM_BENCH_MODEL, the pocket model otherwise. Weights are cast to float32 on the CPU, which is what
Tandem computes in there.
"""

import ctypes
import json
import os
import platform
import sys
import time
from importlib.metadata import version

import mlx.core as mx
from mlx_lm import load
from mlx_lm.generate import generate_step

PROMPT, DECODE, LONG = 64, 128, 2048


def ids(n, vocab):
    span = min(vocab, 4000) - 100
    return mx.array([100 + i * 37 % span for i in range(n)])


def blas():
    """The file that cblas_sgemm comes from in this process."""

    class Info(ctypes.Structure):
        _fields_ = [("fname", ctypes.c_char_p), ("fbase", ctypes.c_void_p), ("sname", ctypes.c_char_p), ("saddr", ctypes.c_void_p)]

    try:
        process, info = ctypes.CDLL(None), Info()
        process.dladdr(ctypes.cast(process.cblas_sgemm, ctypes.c_void_p), ctypes.byref(info))
        return info.fname.decode()
    except AttributeError:
        return ""


def run(model, prompt, n, chunk):
    """Generates n tokens; returns them, seconds to the first and seconds from the first to the last."""
    tokens, start, first = [], time.perf_counter(), None
    for token, _ in generate_step(prompt, model, max_tokens=n, prefill_step_size=chunk):
        tokens.append(token)
        if first is None:
            first = time.perf_counter()
    return tokens, first - start, time.perf_counter() - first


def open_model():
    """The model to measure and the size of its vocabulary."""
    model, _ = load(os.environ.get("TANDEM_BENCH_MODEL", "models/pocket"), lazy=True)
    if not mx.metal.is_available():
        model.set_dtype(mx.float32)
    mx.eval(model.parameters())
    return model, model.args.vocab_size


def header(tokens):
    """The first line: what has to be equal for a fair comparison, with tokens that the model generated."""
    return {
        "side": "mlx_lm",
        "dtype": "F32" if not mx.metal.is_available() else "checkpoint",
        "threads": int(os.environ.get("OPENBLAS_NUM_THREADS", os.cpu_count())),
        "blas": blas(),
        "versions": {"mlx": version("mlx"), "mlx_lm": version("mlx-lm"), "python": platform.python_version()},
        "tokens": tokens[:64],
    }


def main():
    model, vocab = open_model()
    short, long = ids(PROMPT, vocab), ids(LONG, vocab)
    tokens, _, _ = run(model, short, DECODE, 2048)
    for chunk in (512, 2048):
        run(model, long, 1, chunk)
    print(json.dumps(header(tokens)), flush=True)
    for _ in sys.stdin:
        _, _, decode = run(model, short, DECODE, 2048)
        _, chunked, _ = run(model, long, 1, 512)
        _, default, _ = run(model, long, 1, 2048)
        print(json.dumps({
            "decode_per_second": (DECODE - 1) / decode,
            "prefill_chunk_512_per_second": LONG / chunked,
            "prefill_default_per_second": LONG / default,
        }), flush=True)


if __name__ == "__main__":
    main()
