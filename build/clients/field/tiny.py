"""Writes the folders of tiny models, whose answers are noise, and serves them as a hub does."""

import hashlib
import http.server
import json
import math
import os
import random
import struct
import threading

# The tokens are the printable characters of ASCII and the newline, each by itself, and special ones.
PRINTABLE = [chr(c) for c in range(33, 127)] + ["Ġ", "Ċ"]
SPECIAL = ["<|end|>", "<|bos|>", "<|other|>"]
END, BOS, OTHER = len(PRINTABLE), len(PRINTABLE) + 1, len(PRINTABLE) + 2
VOCABULARY = 104  # with room to spare
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}

COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "intermediate_size": 64,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "max_position_embeddings": 1024,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
    "bos_token_id": BOS,
    "eos_token_id": END,
}
MORE = {
    "llama": {"architectures": ["LlamaForCausalLM"]},
    "qwen3": {"architectures": ["Qwen3ForCausalLM"]},
    "gemma3_text": {
        "architectures": ["Gemma3ForCausalLM"],
        "query_pre_attn_scalar": 16,
        "rope_local_base_freq": 10000.0,
        "sliding_window": 16,
        "sliding_window_pattern": 3,
    },
}
ABSENT = object()  # as a field's value: the config does not have it


def tokenizer(merges=(), **more):
    vocabulary = {c: i for i, c in enumerate(PRINTABLE)}
    for i, merge in enumerate(merges):
        vocabulary[merge.replace(" ", "")] = OTHER + 1 + i
    added = [
        {"id": len(PRINTABLE) + i, "content": c, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        for i, c in enumerate(SPECIAL)
    ]
    return {
        "version": "1.0",
        "added_tokens": added,
        "pre_tokenizer": BYTES,
        "decoder": BYTES,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": list(merges)},
    } | more


def shapes(config):
    """Returns the shape of each tensor by its name."""
    hidden, inner, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    q, kv = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    all = {"model.embed_tokens.weight": (config["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    for i in range(config["num_hidden_layers"]):
        p = f"model.layers.{i}."
        for name in ["input_layernorm", "post_attention_layernorm"] + ["pre_feedforward_layernorm", "post_feedforward_layernorm"] * (
            config["model_type"] == "gemma3_text"
        ):
            all[p + name + ".weight"] = (hidden,)
        for name, shape in {
            "self_attn.q_proj": (q, hidden),
            "self_attn.k_proj": (kv, hidden),
            "self_attn.v_proj": (kv, hidden),
            "self_attn.o_proj": (hidden, q),
            "mlp.gate_proj": (inner, hidden),
            "mlp.up_proj": (inner, hidden),
            "mlp.down_proj": (hidden, inner),
        }.items():
            all[p + name + ".weight"] = shape
        if config["model_type"] != "llama":
            all |= {p + "self_attn.q_norm.weight": (head,), p + "self_attn.k_norm.weight": (head,)}
    return all


def weights(config, seed=1, head=False, fill=None):
    """Returns random tensors, the same every time, or tensors full of a number."""
    r, all = random.Random(seed), {}
    named = shapes(config)
    if head:
        named["lm_head.weight"] = named["model.embed_tokens.weight"]
    for name, shape in named.items():
        n = math.prod(shape)
        if fill is not None:
            numbers = struct.pack("<f", fill) * n
        elif len(shape) == 1:
            numbers = [r.gauss(0 if config["model_type"] == "gemma3_text" else 1, 0.2) for _ in range(n)]
        elif name in ("model.embed_tokens.weight", "lm_head.weight"):
            numbers = [r.gauss(0, 0.05) for _ in range(n)]
        else:
            numbers = [r.gauss(0, 1.5 / math.sqrt(shape[1])) for _ in range(n)]
        all[name] = shape, numbers
    return all


def safetensors(tensors):
    """Returns a file of tensors, whose numbers are a list or bytes."""
    header, data, at = {}, [], 0
    for name, (shape, numbers) in tensors.items():
        part = numbers if isinstance(numbers, bytes) else struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + len(part)]}
        at += len(part)
        data.append(part)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(data)


def put(folder, name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not isinstance(content, (str, bytes)):
        content = json.dumps(content)
    with open(path, "wb") as f:
        f.write(content.encode() if isinstance(content, str) else content)


def folder(parent, name, kind="llama", template=TEMPLATE, files=None, tensors=None, **fields):
    """Writes a model's folder and returns its path. files replace its files or, as None, take them away."""
    config = {"model_type": kind} | COMMON | MORE[kind] | fields
    sized = {k: v for k, v in config.items() if v is not ABSENT}
    path = os.path.join(parent, name)
    all = {
        "config.json": sized,
        "tokenizer.json": tokenizer(),
        "chat_template.jinja": template,
        "model.safetensors": safetensors(weights(COMMON | MORE[kind] | sized) if tensors is None else tensors),
    } | (files or {})
    for file, content in all.items():
        if content is not None:
            put(path, file, content)
    return path


def yarn_answer(tensors, config, ids, count, attention_factor):
    """Returns the ids that a qwen3 of one layer goes on with, greedily, by the formula of YaRN."""
    head, heads = config["head_dim"], config["num_attention_heads"]
    scaling, base, half = config["rope_scaling"], config["rope_theta"], config["head_dim"] // 2

    def turns(rotations):  # the dimension that turns so often within the original context
        return head * math.log(scaling["original_max_position_embeddings"] / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low = max(math.floor(turns(scaling.get("beta_fast", 32))), 0)
    high = min(math.ceil(turns(scaling.get("beta_slow", 1))), head - 1)
    frequencies = []
    for i in range(half):
        ramp = min(max((i - low) / max(high - low, 0.001), 0), 1)
        plain = base ** (-2 * i / head)
        frequencies.append(plain / scaling["factor"] * ramp + plain * (1 - ramp))

    def matrix(name):
        (rows, columns), numbers = tensors[name]
        return [numbers[i * columns : (i + 1) * columns] for i in range(rows)]

    def times(m, x):
        return [sum(a * b for a, b in zip(row, x)) for row in m]

    def norm(x, name):
        scale = 1 / math.sqrt(sum(v * v for v in x) / len(x) + config["rms_norm_eps"])
        return [v * scale * w for v, w in zip(x, tensors[name][1])]

    def rotated(x, position):
        angles = [position * f for f in frequencies]
        cos, sin = [math.cos(a) * attention_factor for a in angles], [math.sin(a) * attention_factor for a in angles]
        return [x[i] * cos[i] - x[i + half] * sin[i] for i in range(half)] + [x[i + half] * cos[i] + x[i] * sin[i] for i in range(half)]

    embed, p = matrix("model.embed_tokens.weight"), "model.layers.0."
    q, k, v, o, gate, up, down = (
        matrix(p + n + ".weight")
        for n in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
    )
    keys, values, ids, answer = [], [], list(ids), []
    while len(answer) < count:
        x = embed[ids[len(keys)]]
        n = norm(x, p + "input_layernorm.weight")
        keys.append(rotated(norm(times(k, n), p + "self_attn.k_norm.weight"), len(keys)))
        values.append(times(v, n))
        if len(keys) < len(ids):
            continue  # with one layer, earlier positions matter by their keys and values alone
        queries, mixed = times(q, n), []
        for h in range(heads):
            query = rotated(norm(queries[h * head : (h + 1) * head], p + "self_attn.q_norm.weight"), len(keys) - 1)
            scores = [sum(a * b for a, b in zip(query, key)) / math.sqrt(head) for key in keys]
            parts = [math.exp(s - max(scores)) for s in scores]
            mixed += [sum(w * value[i] for w, value in zip(parts, values)) / sum(parts) for i in range(head)]
        x = [a + b for a, b in zip(x, times(o, mixed))]
        n = norm(x, p + "post_attention_layernorm.weight")
        x = [a + b for a, b in zip(x, times(down, [g / (1 + math.exp(-g)) * u for g, u in zip(times(gate, n), times(up, n))]))]
        logits = times(embed, norm(x, "model.norm.weight"))
        ids.append(logits.index(max(logits)))
        answer.append(ids[-1])
    return answer


class Hub:
    """A hub with one model, org/NAME, on this machine. It notes what is asked of it."""

    def __init__(self, files, sizes=None, redirect=None):
        self.asked, self.sent = [], 0
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.split("?")[0]
                hub.asked.append(f"{self.command} {path}")
                name = path.partition("/resolve/")[2].partition("/")[2]
                if path.startswith("/api/models/org/"):
                    self.answer(
                        json.dumps(
                            {
                                "id": "org/name",
                                "sha": "a" * 40,
                                "siblings": [{"rfilename": n, "size": (sizes or {}).get(n, len(c))} for n, c in files.items()],
                            }
                        ).encode()
                    )
                elif redirect and name in redirect:
                    self.send_response(302)
                    self.send_header("Location", redirect[name])
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                elif name in files:
                    self.answer(files[name], name)
                else:
                    self.send_error(404)

            do_HEAD = do_GET

            def answer(self, content, name=None):
                self.send_response(200)
                size = (sizes or {}).get(name, len(content))
                if name is not None:
                    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
                    self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest() if name.endswith(".safetensors") else blob}"')
                    self.send_header("X-Repo-Commit", "a" * 40)
                    self.send_header("X-Linked-Size", str(size))
                self.send_header("Content-Length", str(size))
                self.end_headers()
                if self.command == "GET":
                    for at in range(0, len(content), 1 << 16):
                        try:
                            self.wfile.write(content[at : at + (1 << 16)])
                        except ConnectionError:
                            return  # the client has enough
                        hub.sent += len(content[at : at + (1 << 16)])

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def contents(path):
    """Returns the files of a folder by their names."""
    found = {}
    for root, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(root, name), "rb") as f:
                found[os.path.relpath(os.path.join(root, name), path)] = f.read()
    return found
