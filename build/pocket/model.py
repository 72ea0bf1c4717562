"""The pocket model: a decoder in Gemma 3's form. Its forward equals that of mlx_lm's gemma3_text.

What is unusual:
- RMSNorm multiplies by (1 + weight). Every layer has four: before and after attention, before and
  after the MLP.
- Embeddings are multiplied by sqrt(hidden_size), rounded through bfloat16 as the checkpoints' own
  code does.
- Queries and keys are normalised per head before the rotary embedding.
- Every sliding_window_pattern-th layer attends to all positions. The others attend to the last
  sliding_window positions. Each kind has a rotary base of its own.
- The head is the embedding, transposed.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    vocab_size: int = 4096
    hidden_size: int = 384
    num_hidden_layers: int = 6
    intermediate_size: int = 1280
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    rms_norm_eps: float = 1e-6
    rope_theta: float = 100000.0  # full layers
    rope_local_base_freq: float = 10000.0  # sliding layers
    query_pre_attn_scalar: int = 64
    sliding_window: int = 128
    sliding_window_pattern: int = 3
    max_position_embeddings: int = 32768

    def is_sliding(self, layer):
        return (layer + 1) % self.sliding_window_pattern != 0


class RMSNorm(nn.Module):
    def __init__(self, size, eps, weight=0.0):
        super().__init__()
        self.weight = nn.Parameter(torch.full((size,), weight))
        self.eps = eps

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + self.eps)
        return (y * (1.0 + self.weight)).to(x.dtype)


def rotary(start, length, head_dim, base, device=None):
    """Returns cos and sin of the positions from start on, both (L, D/2)."""
    freq = base ** (-torch.arange(0, head_dim, 2, device=device, dtype=torch.float32) / head_dim)
    angle = torch.arange(start, start + length, device=device, dtype=torch.float32)[:, None] * freq[None, :]
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    """Rotates the pairs (i, i + D/2) of x (B, H, L, D)."""
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


def windowed_attention(q, k, v, window, scale):
    """Computes causal attention over the last window positions, for q, k, v (B, H, L, D).

    A block of window queries meets its own block of keys and the block before: O(L x window).
    """
    B, H, L, D = q.shape
    n = -(-L // window)  # blocks
    pad = n * window - L
    q = F.pad(q, (0, 0, 0, pad)).view(B * H, n, window, D)
    k, v = (F.pad(x, (0, 0, window, pad)).view(B * H, n + 1, window, D) for x in (k, v))
    k, v = (torch.cat((x[:, :-1], x[:, 1:]), dim=2) for x in (k, v))  # (B H, n, 2 window, D)
    i = torch.arange(window, device=q.device)[None, :, None] + window
    j = torch.arange(2 * window, device=q.device)[None, None, :]
    block = torch.arange(n, device=q.device)[:, None, None]
    mask = (j <= i) & (i - j < window) & (block * window + j >= window)  # (n, window, 2 window)
    # mask[None]: with a mask of three dimensions torch takes its slow path.
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[None], scale=scale)
    return y.view(B, H, n * window, D)[:, :, :L]


class KVCache:
    """Keeps keys and values of one layer: a prompt's, then one more token's a call.

    With a window it keeps no more positions than that.
    The slots of a full window are out of order. Attention without a mask does not see that, because
    keys come rotated.
    """

    def __init__(self, capacity, window=None):
        self.size = min(capacity, window) if window else capacity  # positions
        self.offset = 0  # tokens written so far
        self.k = self.v = None  # (B, H, size, D)

    def write(self, k, v):
        """Keeps k and v (B, H, L, D) of the prompt or of one token."""
        L = k.shape[2]
        if self.k is None:
            self.k, self.v = (x.new_empty(*x.shape[:2], self.size, x.shape[3]) for x in (k, v))
        slots = torch.arange(self.offset + max(0, L - self.size), self.offset + L) % self.size
        self.k[:, :, slots], self.v[:, :, slots] = k[:, :, -self.size :], v[:, :, -self.size :]
        self.offset += L

    def kept(self):
        n = min(self.offset, self.size)
        return self.k[:, :, :n], self.v[:, :, :n]


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = c.num_attention_heads, c.num_key_value_heads, c.head_dim
        self.scale = c.query_pre_attn_scalar**-0.5
        self.q_proj = nn.Linear(c.hidden_size, self.heads * c.head_dim, bias=False)
        self.k_proj = nn.Linear(c.hidden_size, self.kv_heads * c.head_dim, bias=False)
        self.v_proj = nn.Linear(c.hidden_size, self.kv_heads * c.head_dim, bias=False)
        self.o_proj = nn.Linear(self.heads * c.head_dim, c.hidden_size, bias=False)
        self.q_norm = RMSNorm(c.head_dim, c.rms_norm_eps)
        self.k_norm = RMSNorm(c.head_dim, c.rms_norm_eps)

    def forward(self, x, rope, window, cache=None):
        B, L, _ = x.shape
        q = self.q_norm(self.q_proj(x).view(B, L, self.heads, self.head_dim)).transpose(1, 2)  # (B, H, L, D)
        k = self.k_norm(self.k_proj(x).view(B, L, self.kv_heads, self.head_dim)).transpose(1, 2)
        v = self.v_proj(x).view(B, L, self.kv_heads, self.head_dim).transpose(1, 2)
        q, k = rotate(q, *rope), rotate(k, *rope)
        step = cache is not None and cache.offset > 0  # one more token after those in cache
        if cache is not None:
            cache.write(k, v)
        if step:  # a group's queries take the place of a sequence: (B, KV heads, group, D)
            y = F.scaled_dot_product_attention(q.view(B, self.kv_heads, -1, self.head_dim), *cache.kept(), scale=self.scale)
            return self.o_proj(y.reshape(B, 1, -1))
        group = self.heads // self.kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        if window:
            y = windowed_attention(q, k, v, window, self.scale)
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale)
        return self.o_proj(y.transpose(1, 2).reshape(B, L, -1))


class MLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.up_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.down_proj = nn.Linear(c.intermediate_size, c.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))


class Layer(nn.Module):
    # The norms after attention and MLP start at 0.3, not 1: so no layer drowns the embedding early.
    POST_NORM = -0.7

    def __init__(self, c):
        super().__init__()
        self.self_attn = Attention(c)
        self.mlp = MLP(c)
        self.input_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps, self.POST_NORM)
        self.pre_feedforward_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.post_feedforward_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps, self.POST_NORM)

    def forward(self, x, rope, window, cache=None):
        x = x + self.post_attention_layernorm(self.self_attn(self.input_layernorm(x), rope, window, cache))
        return x + self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x)))


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.config = c
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))
        self.norm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.embed_scale = torch.tensor(math.sqrt(c.hidden_size), dtype=torch.bfloat16).item()
        for p in self.parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.5 / math.sqrt(p.shape[1]))

    def caches(self, capacity):
        """Returns a cache for each layer, for sequences of at most capacity tokens."""
        c = self.config
        return [KVCache(capacity, c.sliding_window if c.is_sliding(i) else None) for i in range(c.num_hidden_layers)]

    def hidden(self, tokens, caches=None, tap=None):
        """Returns the states under the head, (B, L, hidden), for tokens (B, L).

        With caches the model remembers. Calls after the first then take one token a row.
        tap(layer, x) gets each layer's output, (B, L, hidden).
        """
        c, L = self.config, tokens.shape[1]
        start = caches[0].offset if caches else 0
        caches = caches or [None] * len(self.layers)
        local = rotary(start, L, c.head_dim, c.rope_local_base_freq, tokens.device)
        full = rotary(start, L, c.head_dim, c.rope_theta, tokens.device)
        x = self.embed_tokens(tokens) * self.embed_scale  # (B, L, hidden)
        for i, (layer, cache) in enumerate(zip(self.layers, caches)):
            x = layer(x, local, c.sliding_window, cache) if c.is_sliding(i) else layer(x, full, None, cache)
            if tap:
                tap(i, x)
        return self.norm(x)

    def unembed(self, x):
        return F.linear(x, self.embed_tokens.weight)

    def forward(self, tokens):
        """Returns logits (B, L, V) for tokens (B, L)."""
        return self.unembed(self.hidden(tokens))

    def loss(self, tokens):
        """Returns the mean cross entropy of tokens (B, L + 1), in nats a token.

        The first one is not counted.
        """
        logits = self(tokens[:, :-1])
        return F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
