"""Asks a running `tandem serve` for embeddings with the official openai package.

python openai_embeddings.py --make FOLDER   writes a tiny random embedding model into a new folder, or a reranker if that is its name
python openai_embeddings.py BASE_URL        (without /v1; the server serves that model, whose id is `embedder`)

Fails on the first answer that differs from what the OpenAI protocol promises.
"""

import functools
import json
import math
import pathlib
import random
import struct
import sys

import openai

from checks import check, run

MODEL = "embedder"
HIDDEN, INNER, HEADS, DIM, LAYERS, VOCAB = 32, 48, 2, 16, 2, 257
END = 256  # the token that ends a text
ANSWERS = ["yes", "no"]  # tokens of a reranker


def weights(vocab):
    """Returns names, shapes and means of the tensors. The names are those of Qwen3-Embedding, without a head."""
    norm, matrix = (1.0, 0.2), (0.0, 1.5 / HIDDEN**0.5)
    tensors = {"embed_tokens.weight": ((vocab, HIDDEN), (0.0, 1.0)), "norm.weight": ((HIDDEN,), norm)}
    for i in range(LAYERS):
        shapes = {
            "input_layernorm": (HIDDEN,),
            "self_attn.q_proj": (HEADS * DIM, HIDDEN),
            "self_attn.k_proj": (DIM, HIDDEN),
            "self_attn.v_proj": (DIM, HIDDEN),
            "self_attn.o_proj": (HIDDEN, HEADS * DIM),
            "self_attn.q_norm": (DIM,),
            "self_attn.k_norm": (DIM,),
            "post_attention_layernorm": (HIDDEN,),
            "mlp.gate_proj": (INNER, HIDDEN),
            "mlp.up_proj": (INNER, HIDDEN),
            "mlp.down_proj": (HIDDEN, INNER),
        }
        for name, shape in shapes.items():
            tensors[f"layers.{i}.{name}.weight"] = (shape, norm if len(shape) == 1 else matrix)
    return tensors


def safetensors(path, vocab, prefix):
    rng, header, body = random.Random(1), {}, b""
    for name, (shape, (mean, std)) in weights(vocab).items():
        values = [rng.gauss(mean, std) for _ in range(math.prod(shape))]
        data = struct.pack(f"<{len(values)}f", *values)
        header[prefix + name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def tokenizer():
    """Returns a tokenizer of one token a byte. Each text ends with one more token, which no text contains."""
    vocab, other = {}, 256
    for b in range(256):
        if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174:
            vocab[chr(b)] = b
        else:
            vocab[chr(other)], other = b, other + 1
    text, end = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|end|>", "type_id": 0}}
    bytewise = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "added_tokens": [{"id": END, "content": "<|end|>", **special}],
        "pre_tokenizer": bytewise,
        "decoder": bytewise,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [text, end],
            "pair": [text, end],
            "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [END], "tokens": ["<|end|>"]}},
        },
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    }


def make(folder):
    reranks = folder.name.startswith("Qwen3-Reranker")
    vocab = VOCAB + len(ANSWERS) * reranks
    folder.mkdir(parents=True)
    config = dict(
        model_type="qwen3",
        architectures=["Qwen3ForCausalLM"],
        hidden_size=HIDDEN,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=1,
        head_dim=DIM,
        vocab_size=vocab,
        max_position_embeddings=2048 if reranks else 512,
        rms_norm_eps=1e-6,
        rope_theta=10000.0,
        tie_word_embeddings=reranks,
    )
    module = "sentence_transformers.models."
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    files = {
        "config.json": config,
        "tokenizer.json": tokenizer(),
        "modules.json": [dict(idx=i, name=str(i), path=p, type=module + t) for i, (p, t) in enumerate(modules)],
        "1_Pooling/config.json": dict(word_embedding_dimension=HIDDEN, pooling_mode_lasttoken=True, include_prompt=True),
    }
    if reranks:
        tokens = tokenizer()
        del tokens["post_processor"]
        special = tokens["added_tokens"][0]
        tokens["added_tokens"] += [special | {"id": VOCAB + i, "content": c, "special": False} for i, c in enumerate(ANSWERS)]
        files = {"config.json": config, "tokenizer.json": tokens}
    else:
        (folder / "1_Pooling").mkdir()
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value))
    safetensors(folder / "model.safetensors", vocab, "model." * reranks)


def near(a, b):
    return len(a) == len(b) and all(abs(x - y) < 1e-5 for x, y in zip(a, b))


def embeddings(client):
    texts = ["one", "the second text", "three"]
    # By default the package asks for base64, and decodes it.
    got = client.embeddings.create(model=MODEL, input=texts)
    check(got.object == "list" and got.model == MODEL, f"{got.object} of {got.model}")
    check([d.index for d in got.data] == [0, 1, 2], f"indexes {[d.index for d in got.data]}")
    vectors = [d.embedding for d in got.data]
    for v in vectors:
        check(len(v) == HIDDEN and abs(math.hypot(*v) - 1) < 1e-5, f"a vector of {len(v)} numbers, {math.hypot(*v)} long")
    tokens = sum(len(t) + 1 for t in texts)
    check(got.usage.prompt_tokens == got.usage.total_tokens == tokens, f"usage {got.usage} for {tokens} tokens")

    floats = client.embeddings.create(model=MODEL, input=texts, encoding_format="float", user="me")
    for d, v in zip(floats.data, vectors):
        check(near(d.embedding, v), "an embedding in numbers differs from the one in base64")
    ids = [[*t.encode(), END] for t in texts]
    for d, v in zip(client.embeddings.create(model=MODEL, input=ids).data, vectors):
        check(near(d.embedding, v), "the embedding of token ids differs from the one of their text")
    one = client.embeddings.create(model="tandem", input=ids[0]).data
    check(len(one) == 1 and near(one[0].embedding, vectors[0]), "a text alone has another embedding than among several")

    cut = client.embeddings.create(model=MODEL, input=texts[0], dimensions=8).data[0].embedding
    length = math.hypot(*vectors[0][:8])
    check(near(cut, [x / length for x in vectors[0][:8]]), f"8 dimensions are {cut}")


def refusals(client):
    def refused(says, ask, **fields):
        try:
            ask(**{"model": MODEL, **fields})
        except openai.BadRequestError as e:
            check(says in e.body["message"], f"refused with {e.body}, not with {says!r}")
            return
        check(False, f"accepted {fields}")

    embed = client.embeddings.create
    refused("empty", embed, input="")
    refused("not empty", embed, input=[])
    refused("2048", embed, input=["x"] * 2049)
    refused("512 tokens. However, you requested 513 tokens", embed, input="x" * 512)
    refused(f"have {HIDDEN}", embed, input="x", dimensions=HIDDEN + 1)
    refused("below 257", embed, input=[257])
    hello = [{"role": "user", "content": "hello"}]
    refused("generates no text", client.chat.completions.create, messages=hello)
    refused("generates no text", client.chat.completions.create, messages=hello, stream=True)
    refused("pocket generates text", embed, model="pocket", input="x")
    embed(model=MODEL, input="x")  # the server goes on answering


def main(base):
    client = openai.OpenAI(base_url=base + "/v1", api_key="unused", max_retries=0, timeout=120)
    run({"embeddings": functools.partial(embeddings, client), "embeddings refused": functools.partial(refusals, client)})


if __name__ == "__main__":
    if sys.argv[1] == "--make":
        make(pathlib.Path(sys.argv[2]))
    else:
        main(sys.argv[1])
