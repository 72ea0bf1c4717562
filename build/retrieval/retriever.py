"""The retrieving model: a decoder in Qwen3's form, with the arms that bound its memory.

What is unusual:
- Queries and keys are normalised per head before the rotary embedding.
- The head is the embedding, transposed.
- A layer may take restored rows: keys before norm and rotary embedding, and values, of every
  position. A query attends its own rows at positions < SINK and in the last WINDOW, and restored
  rows between them. Without restored rows it attends nothing between.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from dflash import MLP, RMSNorm
from model import rotary, rotate

SINK, WINDOW = 4, 64


@dataclass
class Config:
    vocab_size: int = 768
    hidden_size: int = 128
    num_hidden_layers: int = 3
    intermediate_size: int = 256
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    rms_norm_eps: float = 1e-6
    rope_theta: float = 100000.0
    max_position_embeddings: int = 8192


class Rows:
    """Restored keys (before norm and rotary embedding) and values of a layer, (B, L, KV heads, D).

    None for both leaves a sink and a window alone.
    """

    def __init__(self, k=None, v=None):
        self.k, self.v = k, v


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = c.num_attention_heads, c.num_key_value_heads, c.head_dim
        self.q_proj = nn.Linear(c.hidden_size, self.heads * c.head_dim, bias=False)
        self.k_proj = nn.Linear(c.hidden_size, self.kv_heads * c.head_dim, bias=False)
        self.v_proj = nn.Linear(c.hidden_size, self.kv_heads * c.head_dim, bias=False)
        self.o_proj = nn.Linear(self.heads * c.head_dim, c.hidden_size, bias=False)
        self.q_norm = RMSNorm(c.head_dim, c.rms_norm_eps)
        self.k_norm = RMSNorm(c.head_dim, c.rms_norm_eps)

    def keys(self, k, rope):
        """Returns keys (B, H, L, D) of rows k (B, L, KV heads, D) as they are stored."""
        k = rotate(self.k_norm(k).transpose(1, 2), *rope)
        return k.repeat_interleave(self.heads // self.kv_heads, dim=1)

    def values(self, v):
        return v.transpose(1, 2).repeat_interleave(self.heads // self.kv_heads, dim=1)

    def attend(self, q, k, v, rope, restored=None):
        """Returns what o_proj puts out, for q (B, L, H, D) and own rows k, v (B, L, KV heads, D)."""
        B, L = q.shape[:2]
        q = rotate(self.q_norm(q).transpose(1, 2), *rope)
        if restored is None:
            y = F.scaled_dot_product_attention(q, self.keys(k, rope), self.values(v), is_causal=True)
        else:
            i, j = torch.arange(L)[:, None], torch.arange(L)
            near = (j <= i) & ((j < SINK) | (j > i - WINDOW))
            keys, values = self.keys(k, rope), self.values(v)
            if restored.k is not None:
                keys = torch.cat((keys, self.keys(restored.k, rope)), dim=2)
                values = torch.cat((values, self.values(restored.v)), dim=2)
                near = torch.cat((near, (j <= i) & ~near), dim=1)
            y = F.scaled_dot_product_attention(q, keys, values, attn_mask=near[None, None])
        return self.o_proj(y.transpose(1, 2).reshape(B, L, -1))

    def project(self, x):
        B, L, _ = x.shape
        return (
            self.q_proj(x).view(B, L, self.heads, self.head_dim),
            self.k_proj(x).view(B, L, self.kv_heads, self.head_dim),
            self.v_proj(x).view(B, L, self.kv_heads, self.head_dim),
        )


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.self_attn = Attention(c)
        self.mlp = MLP(c)
        self.input_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)


class Retriever(nn.Module):
    embed_scale = 1.0  # as build/pocket's drafter asks for it

    def __init__(self, c):
        super().__init__()
        self.config = c
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))
        self.norm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        for p in self.parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.5 / p.shape[1] ** 0.5)
        nn.init.normal_(self.embed_tokens.weight, std=0.05)

    def hidden(self, tokens, tap=None, restored=None, record=None):
        """Returns the states under the head, (B, L, hidden), for tokens (B, L).

        tap(layer, x) gets each layer's output. restored, {layer: Rows}, bounds these layers.
        record(layer, q, k, v, y) gets each layer's projections and its attention's output.
        """
        c, L = self.config, tokens.shape[1]
        rope = rotary(0, L, c.head_dim, c.rope_theta)
        x = self.embed_tokens(tokens)
        for i, layer in enumerate(self.layers):
            q, k, v = layer.self_attn.project(layer.input_layernorm(x))
            y = layer.self_attn.attend(q, k, v, rope, (restored or {}).get(i))
            if record:
                record(i, q, k, v, y)
            x = x + y
            x = x + layer.mlp(layer.post_attention_layernorm(x))
            if tap:
                tap(i, x)
        return self.norm(x)

    def unembed(self, x):
        return F.linear(x, self.embed_tokens.weight)
