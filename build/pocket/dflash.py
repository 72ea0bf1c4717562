"""The drafter: a DFlash block drafter (z-lab, 2026) for the pocket model.

It has the form of the published checkpoints.

What is unusual:
- The target's hidden states after some layers (taps) are joined and pass through fc and
  hidden_norm. They make one context row a position. A context row gives every layer a key and a
  value only.
- One pass predicts a block: the newest token (the anchor) and masks. Each row predicts the token at
  its own position.
- Embedding and head are the target's. The embedding is scaled as the target scales it.
- Layers have Qwen3's shape. RMSNorm multiplies by the weight itself. Queries and keys are
  normalised per head before the rotary embedding. The MLP is SwiGLU.
- A full layer's rows see the whole context and the whole block.
- A sliding layer's rows see the last sliding_window positions, their own included. In the block
  they see no later row.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from model import rotary, rotate


@dataclass
class Config:
    vocab_size: int = 4096
    hidden_size: int = 384  # the target's
    num_hidden_layers: int = 4
    intermediate_size: int = 512
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    block_size: int = 8  # rows of a block, the anchor included
    mask_token_id: int = 6
    target_layer_ids: tuple = (1, 3, 5)  # the tap of id i is what layer i puts out
    num_target_layers: int = 6
    sliding_layers: tuple = ()
    sliding_window: int = 128


class RMSNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + self.eps)
        return (y * self.weight).to(x.dtype)


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

    def keys_values(self, x, rope):
        """Keys and values (B, KV heads, L, D) of rows x (B, L, hidden): context rows or a block's."""
        B, L, _ = x.shape
        k = self.k_norm(self.k_proj(x).view(B, L, self.kv_heads, self.head_dim)).transpose(1, 2)
        v = self.v_proj(x).view(B, L, self.kv_heads, self.head_dim).transpose(1, 2)
        return rotate(k, *rope), v

    def forward(self, x, rope, context, context_rope, mask):
        B, L, _ = x.shape
        q = self.q_norm(self.q_proj(x).view(B, L, self.heads, self.head_dim)).transpose(1, 2)
        q = rotate(q, *rope)  # (B, H, L, D)
        pairs = zip(self.keys_values(context, context_rope), self.keys_values(x, rope))
        k, v = (torch.cat(pair, dim=2).repeat_interleave(self.heads // self.kv_heads, dim=1) for pair in pairs)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(y.transpose(1, 2).reshape(B, L, -1))


class MLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.up_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.down_proj = nn.Linear(c.intermediate_size, c.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.self_attn = Attention(c)
        self.mlp = MLP(c)
        self.input_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)

    def forward(self, x, *attention):
        x = x + self.self_attn(self.input_layernorm(x), *attention)
        return x + self.mlp(self.post_attention_layernorm(x))


class Drafter(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.config = c
        self.fc = nn.Linear(len(c.target_layer_ids) * c.hidden_size, c.hidden_size, bias=False)
        self.hidden_norm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))
        self.norm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        for p in self.parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.5 / p.shape[1] ** 0.5)

    def start(self, target):
        """Copies the scale of the target's last norm. The shared head was trained under it."""
        self.norm.weight.data.copy_(1.0 + target.norm.weight)

    def hidden(self, target, taps, tokens, anchors, rows=None):
        """Returns the states under the head of all blocks, (B, A, rows - 1, hidden), in one forward.

        The blocks start at anchors (B, A) in tokens (B, L). taps (B, L, taps x hidden) are those of
        tokens. A block has rows rows, block_size if None. From row 1 on, row j predicts the token
        at position anchor + j. The anchor's own row predicts nothing.
        """
        c = self.config
        rows = rows or c.block_size
        B, A = anchors.shape
        L = tokens.shape[1]
        block = torch.full((B, A, rows), c.mask_token_id)
        block[:, :, 0] = tokens.gather(1, anchors)
        x = F.embedding(block.view(B, A * rows), target.embed_tokens.weight) * target.embed_scale
        positions = (anchors[:, :, None] + torch.arange(rows)).view(B, A * rows)
        cos, sin = rotary(0, L + rows, c.head_dim, c.rope_theta)
        rope, context_rope = (cos[positions][:, None], sin[positions][:, None]), (cos[:L], sin[:L])
        context = self.hidden_norm(self.fc(taps))
        for i, layer in enumerate(self.layers):
            window = c.sliding_window if i in c.sliding_layers else None
            x = layer(x, rope, context, context_rope, block_mask(anchors, rows, L, window))
        return self.norm(x).view(B, A, rows, -1)[:, :, 1:]

    def forward(self, target, taps, tokens, anchors, rows=None):
        """Returns logits (B, A, rows - 1, V) of hidden's blocks, with the mask token forbidden."""
        logits = target.unembed(self.hidden(target, taps, tokens, anchors, rows)).float()
        return logits.index_fill(-1, torch.tensor(self.config.mask_token_id), -torch.inf)


def block_mask(anchors, rows, length, window=None):
    """Returns the attention mask of blocks at anchors (B, A): (B, 1, A rows, length + A rows).

    The columns are a context of length rows, then the rows of all blocks.
    """
    B, A = anchors.shape
    offset = torch.arange(rows)
    j = torch.arange(length)
    start = anchors[:, :, None, None]  # (B, A, 1, 1)
    context = (j < start).expand(B, A, rows, length)
    block = torch.ones(rows, rows, dtype=torch.bool)
    if window:
        context = context & (j > start + offset[:, None] - window)
        block = (offset <= offset[:, None]) & (offset > offset[:, None] - window)
    own = torch.eye(A, dtype=torch.bool)[:, None, :, None] & block[None, :, None, :]  # (A, rows, A, rows)
    own = own.view(A * rows, A * rows).expand(B, -1, -1)
    return torch.cat((context.reshape(B, A * rows, length), own), dim=2)[:, None]


@torch.no_grad()
def read(target, tokens, ids):
    """Runs the target over tokens (B, L).

    Returns (states under the head (B, L, hidden), taps (B, L, len(ids) x hidden)).
    """
    taps = {}
    hidden = target.hidden(tokens, tap=taps.__setitem__)
    return hidden, torch.cat([taps[i] for i in ids], dim=-1)
