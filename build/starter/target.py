"""The starter, SmolLM2-135M-Instruct, in torch: a llama with grouped queries and a tied head.

Its weights come from the folder that build/fixtures/_starter_folder.py writes. They are frozen, in
bfloat16, on torch's default device.

What is unusual: queries, keys and values are one matrix, and so are gate and up. A batch generates
fewer and larger products then.
"""

import ctypes
import hashlib
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from model import rotary, rotate


@dataclass
class Config:
    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    rms_norm_eps: float
    rope_theta: float
    eos_token_id: int

    @property
    def head_dim(self):
        return self.hidden_size // self.num_attention_heads


def config(folder):
    with open(os.path.join(folder, "config.json")) as f:
        said = json.load(f)
    return Config(**{name: said[name] for name in Config.__annotations__})


def rms_norm(x, weight, eps):
    y = x.float()
    return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + eps) * weight).to(x.dtype)


def library(source):
    """Returns a C++ file beside this one as a library. It is compiled once for each cache folder."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), source)
    with open(path, "rb") as f:
        name = hashlib.sha256(f.read()).hexdigest()[:12] + ".so"
    made = os.path.join(os.environ.get("TANDEM_CACHE") or tempfile.mkdtemp(), name)
    if not os.path.exists(made):
        part = f"{made}.{os.getpid()}"
        subprocess.run(["c++", "-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-shared", "-fPIC", "-o", part, path], check=True)
        os.replace(part, made)
    return ctypes.CDLL(made)


class Cache:
    """Keys (rows, KV heads, D, positions) and values (rows, KV heads, positions, D) of texts, for each layer."""

    def __init__(self, c, rows, positions):
        heads, dim, layers = c.num_key_value_heads, c.head_dim, range(c.num_hidden_layers)
        self.positions = positions
        self.k = [torch.zeros((rows, heads, dim, positions), dtype=torch.bfloat16) for _ in layers]
        self.v = [torch.zeros((rows, heads, positions, dim), dtype=torch.bfloat16) for _ in layers]

    def keep(self, rows):
        """Keeps these rows alone."""
        for parts in (self.k, self.v):
            for i, part in enumerate(parts):
                parts[i] = part[rows].clone()


def attend_cache(q, k, v, ends):
    """Returns what queries (B, heads, D) attend of k (B, KV heads, D, P) and v (B, KV heads, P, D), before ends (B,)."""
    B, kv, D, P = k.shape
    scores = (q.view(B, kv, -1, D) @ k).float() * D**-0.5
    scores = scores.masked_fill(torch.arange(P) >= ends[:, None, None, None], -torch.inf)
    return (scores.softmax(-1).to(v.dtype) @ v).view(q.shape)


class Target:
    def __init__(self, folder, taps=(), positions=2048):
        c = self.config = config(folder)
        self.taps = taps  # layers
        stored = load_file(os.path.join(folder, "model.safetensors"))
        device = torch.get_default_device()
        take = lambda *names: torch.cat([stored.pop(name + ".weight") for name in names]).bfloat16().to(device)
        self.embedding = take("model.embed_tokens")
        self.layers = []
        for i in range(c.num_hidden_layers):
            p = f"model.layers.{i}."
            self.layers.append(
                {
                    "input_norm": take(p + "input_layernorm").float(),
                    "qkv": take(*(f"{p}self_attn.{n}_proj" for n in "qkv")),
                    "o": take(p + "self_attn.o_proj"),
                    "mlp_norm": take(p + "post_attention_layernorm").float(),
                    "gate_up": take(p + "mlp.gate_proj", p + "mlp.up_proj"),
                    "down": take(p + "mlp.down_proj"),
                }
            )
        self.norm = take("model.norm").float()
        self.library = library("attend.cpp") if device.type == "cpu" else None
        self.cos, self.sin = rotary(0, positions, c.head_dim, c.rope_theta)

    def embed(self, tokens):
        return F.embedding(tokens, self.embedding)

    def unembed(self, hidden):
        return F.linear(hidden, self.embedding)

    def states(self, tokens, positions, attend):
        """Returns the states of tokens (B, n) at positions (B, n): what the layers in taps put out, and what
        comes under the head, joined: (B, n, (taps + 1) H).

        attend(layer, q, k, v) returns what the queries (B, heads, n, D) attend, given new keys and
        values (B, KV heads, n, D).
        """
        c = self.config
        B, n = tokens.shape
        cos, sin = self.cos[positions][:, None], self.sin[positions][:, None]
        heads, kv, dim = c.num_attention_heads, c.num_key_value_heads, c.head_dim
        x, found = self.embed(tokens), []
        for i, w in enumerate(self.layers):
            y = F.linear(rms_norm(x, w["input_norm"], c.rms_norm_eps), w["qkv"]).view(B, n, heads + 2 * kv, dim).transpose(1, 2)
            qk = rotate(y[:, : heads + kv], cos, sin)
            y = attend(i, qk[:, :heads], qk[:, heads:], y[:, heads + kv :])
            x = x + F.linear(y.transpose(1, 2).reshape(B, n, -1), w["o"])
            gate, up = F.linear(rms_norm(x, w["mlp_norm"], c.rms_norm_eps), w["gate_up"]).chunk(2, dim=-1)
            x = x + F.linear(F.silu(gate) * up, w["down"])
            if i in self.taps:
                found.append(x)
        return torch.cat([*found, rms_norm(x, self.norm, c.rms_norm_eps)], dim=-1)

    @torch.no_grad()
    def scales(self, tokens):
        """Returns the root mean squares of queries and of keys in texts (B, L), a pair for each layer."""
        found = []
        groups = self.config.num_attention_heads // self.config.num_key_value_heads

        def attend(i, q, k, v):
            found.append([x.float().square().mean().sqrt().item() for x in (q, k)])
            k, v = (x.repeat_interleave(groups, dim=1) for x in (k, v))
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        self.states(tokens, torch.arange(tokens.shape[1]).expand(len(tokens), -1), attend)
        return found

    def prefill(self, tokens, lengths, cache, rows):
        """Fills rows of cache with texts (B, L), which end at lengths (B,). Text i goes into each of rows[i].

        Returns (the logits after each, (B, V), the states).
        """
        groups = self.config.num_attention_heads // self.config.num_key_value_heads
        L = tokens.shape[1]

        def attend(i, q, k, v):
            for each in rows.T:
                cache.k[i][each, :, :, :L], cache.v[i][each, :, :L] = k.transpose(2, 3), v
            k, v = (x.repeat_interleave(groups, dim=1) for x in (k, v))
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        positions = torch.arange(L).expand(len(tokens), -1)
        states = self.states(tokens, positions, attend)
        return self.unembed(states[torch.arange(len(tokens)), lengths - 1, -self.config.hidden_size :]), states

    def step(self, tokens, lengths, cache):
        """Takes one more token (B,) for each text of lengths (B,) tokens. Returns (the logits after it, (B, V), its
        states, (B, (taps + 1) H))."""
        c = self.config
        rows, ends = torch.arange(len(tokens)), lengths + 1
        sizes = [ctypes.c_int64(n) for n in (len(tokens), c.num_key_value_heads, cache.positions)]

        def attend(i, q, k, v):
            cache.k[i][rows, :, :, lengths], cache.v[i][rows, :, lengths] = k[:, :, 0], v[:, :, 0]
            if self.library is None:
                return attend_cache(q[:, :, 0], cache.k[i], cache.v[i], ends)[:, :, None]
            q = q[:, :, 0].float().contiguous()
            y = torch.empty_like(q)
            arrays = (q, cache.k[i], cache.v[i], ends, y)
            self.library.attend(*(ctypes.c_void_p(a.data_ptr()) for a in arrays), *sizes)
            return y.bfloat16()[:, :, None]

        states = self.states(tokens[:, None], lengths[:, None], attend)[:, 0]
        return self.unembed(states[:, -c.hidden_size :]), states
