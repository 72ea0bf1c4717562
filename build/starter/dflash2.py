"""The drafter: a DFlash 2 block drafter (z-lab, 2026) for the starter, in the form of published checkpoints.

What is unusual, beside what build/pocket/dflash.py has already:
- Convolutions stand around attention and MLP. Each output row is a sum over the rows of its block
  up to its own, CONV_KERNEL of them. Their factors are base_kernel plus what kernel_projection makes
  of the row. The first half is applied after the input norm, the second half before the sum.
- A selector walks through the block. Of the TOP likeliest tokens of a row it takes the one with the
  best sum of its logit and of an edge from the token before it, whose form the row decides.
- The head holds the frequent tokens alone (head_ids). No other token is guessed.
- A block may begin with more known tokens than one: those of a match that it goes on from.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

import dflash
from dflash import MLP, RMSNorm
from model import rotary, rotate

TOP = 16


@dataclass
class Config:
    vocab_size: int = 49152
    hidden_size: int = 576  # the target's
    num_hidden_layers: int = 4
    intermediate_size: int = 1536
    num_attention_heads: int = 9
    num_key_value_heads: int = 3
    head_dim: int = 64
    rms_norm_eps: float = 1e-5
    rope_theta: float = 100000.0
    block_size: int = 8  # rows of a block, the anchor included
    mask_token_id: int = 16  # <empty_output>
    target_layer_ids: tuple = (1, 8, 15, 22, 28)  # the tap of id i is what layer i puts out
    num_target_layers: int = 30
    start_layers: tuple = (0, 1, 28, 29)  # of the target, for Drafter.start
    conv_kernel_size: int = 2  # 0 = a drafter without convolutions, as the first DFlash
    conv_group_size: int = 64
    selector_rank: int = 64  # 0 = a drafter without a selector
    selector_top_k: int = TOP


class Attention(dflash.Attention):
    """The attention of a first DFlash, whose blocks here see the context by one mask a block."""

    def forward(self, x, rope, context, context_rope, mask):
        """Returns what rows x (B, A, rows, H) of blocks attend: the context that mask (B, 1, A rows, L) lets
        through, and their own block whole."""
        B, A, rows, H = x.shape
        flat = x.view(B, A * rows, H)
        q = self.q_norm(self.q_proj(flat).view(B, A * rows, self.heads, self.head_dim)).transpose(1, 2)
        q = rotate(q, *rope)  # (B, heads, A rows, D)
        groups = self.heads // self.kv_heads
        ck, cv = (t.repeat_interleave(groups, dim=1) for t in self.keys_values(context, context_rope))
        k, v = (t.repeat_interleave(groups, dim=1) for t in self.keys_values(flat, rope))
        shape = (B, self.heads, A, rows, self.head_dim)
        scale = self.head_dim**-0.5
        past = (q @ ck.transpose(2, 3)).view(B, self.heads, A, rows, -1) * scale
        past = past.float().masked_fill(~mask, -torch.inf)
        own = (q.view(shape) @ k.view(shape).transpose(3, 4)).float() * scale  # (B, heads, A, rows, rows)
        weights = torch.cat((past, own), dim=-1).softmax(-1).to(x.dtype)
        L = context.shape[1]
        y = (weights[..., :L].reshape(B, self.heads, A * rows, L) @ cv).view(shape) + weights[..., L:] @ v.view(shape)
        return self.o_proj(y.permute(0, 2, 3, 1, 4).reshape(B, A, rows, -1))


class Convolution(nn.Module):
    """Two convolutions over the rows of a block: before a sublayer and after it."""

    def __init__(self, c):
        super().__init__()
        self.size, self.groups = c.conv_kernel_size, c.hidden_size // c.conv_group_size
        base = torch.zeros(2, self.size, c.hidden_size)
        base[:, 0] = 1  # at first a row is its own
        self.base_kernel = nn.Parameter(base)
        self.kernel_projection = nn.Linear(c.hidden_size, 2 * self.size * self.groups, bias=False)

    def kernels(self, x):
        """Returns the factors (..., rows, 2, size, groups, 1) that rows x (..., rows, H) ask for."""
        return self.kernel_projection(x).view(*x.shape[:-1], 2, self.size, self.groups, 1)

    def apply_kernel(self, x, kernels, which):
        *outer, rows, H = x.shape
        y = 0
        for t in range(self.size):
            shifted = x if t == 0 else F.pad(x, (0, 0, t, 0))[..., :rows, :]
            grouped = shifted.view(*outer, rows, self.groups, -1)
            base = self.base_kernel[which, t].view(self.groups, -1).to(x.dtype)
            y = y + (base + kernels[..., which, t, :, :]) * grouped
        return y.reshape(x.shape)


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.self_attn = Attention(c)
        self.mlp = MLP(c)
        self.input_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        if c.conv_kernel_size:
            self.attention_conv = Convolution(c)
            self.mlp_conv = Convolution(c)

    def around(self, name, sublayer, x):
        conv = getattr(self, name, None)
        if conv is None:
            return sublayer(x)
        kernels = conv.kernels(x)
        return conv.apply_kernel(sublayer(conv.apply_kernel(x, kernels, 0)), kernels, 1)

    def forward(self, x, *attention):
        x = x + self.around("attention_conv", lambda y: self.self_attn(y, *attention), self.input_layernorm(x))
        return x + self.around("mlp_conv", self.mlp, self.post_attention_layernorm(x))


class Selector(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.predecessor_codebook = nn.Parameter(torch.randn(c.vocab_size, c.selector_rank) * 0.3)
        self.successor_codebook = nn.Parameter(torch.randn(c.vocab_size, c.selector_rank) * 0.3)
        self.hidden_projection = nn.Linear(c.hidden_size, c.selector_rank, bias=False)

    def edges(self, hidden, before, candidates):
        """Returns the edges (..., n) from tokens before (...) to candidates (..., n), given rows hidden (..., H)."""
        form = F.embedding(before, self.predecessor_codebook) * self.hidden_projection(hidden).float()
        return (F.embedding(candidates, self.successor_codebook) @ form[..., None])[..., 0]


class Drafter(nn.Module):
    def __init__(self, c, head_ids):
        """head_ids (n,) are the tokens that can be guessed, ascending."""
        super().__init__()
        self.config = c
        self.fc = nn.Linear(len(c.target_layer_ids) * c.hidden_size, c.hidden_size, bias=False)
        self.hidden_norm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))
        self.norm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        for name, p in self.named_parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=(0.02 if "kernel_projection" in name else 0.5) / p.shape[1] ** 0.5)
        if c.selector_rank:
            self.candidate_selector = Selector(c)
        slots = torch.full((c.vocab_size,), -1)
        slots[head_ids] = torch.arange(len(head_ids))
        self.register_buffer("head_ids", head_ids, persistent=False)
        self.register_buffer("slots", slots, persistent=False)  # of tokens in head_ids, -1 for others

    @torch.no_grad()
    def start(self, target, tokens):
        """Copies the target's first and last layers, which have the drafter's shape. tokens (B, L) are a sample.

        Blocks begin as embeddings, which only first layers read well, and end under the target's head.
        Context rows are at first the sum of the first tap and of the last one. The scales of queries
        and keys become those that the sample has in the target.
        """
        c = self.config
        q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
        scales = target.scales(tokens)
        self.norm.weight.copy_(target.norm)
        self.fc.weight.mul_(0.1)
        for columns in (slice(c.hidden_size), slice(-c.hidden_size, None)):
            self.fc.weight[:, columns].add_(torch.eye(c.hidden_size))
        for n, layer in zip(c.start_layers, self.layers, strict=True):
            w = target.layers[n]
            qkv = w["qkv"].float() * w["input_norm"]  # a norm before it has weight 1 then
            attn = layer.self_attn
            for linear, part in zip((attn.q_proj, attn.k_proj, attn.v_proj), qkv.split((q, kv, kv))):
                linear.weight.copy_(part)
            attn.o_proj.weight.copy_(w["o"])
            attn.q_norm.weight.fill_(scales[n][0])
            attn.k_norm.weight.fill_(scales[n][1])
            gate, up = w["gate_up"].float().chunk(2)
            layer.mlp.gate_proj.weight.copy_(gate)
            layer.mlp.up_proj.weight.copy_(up)
            layer.mlp.down_proj.weight.copy_(w["down"])
            layer.post_attention_layernorm.weight.copy_(w["mlp_norm"])

    def hidden(self, target, taps, tokens, anchors, known, rows=None):
        """Returns the states under the head of all blocks, (B, A, rows, H), in one forward.

        The blocks start at anchors (B, A) in tokens (B, L). taps (B, L, taps x H) are those of tokens.
        known (B, A) >= 1 says how many tokens of a block are given, the anchor included; the others
        are masks. Row j of the block at p guesses the token at position p + j.
        """
        c = self.config
        rows = rows or c.block_size
        (B, A), L = anchors.shape, tokens.shape[1]
        offsets = torch.arange(rows)
        positions = anchors[:, :, None] + offsets  # (B, A, rows)
        there = tokens.gather(1, positions.clamp(max=L - 1).view(B, -1)).view(B, A, rows)
        x = target.embed(torch.where(offsets < known[:, :, None], there, c.mask_token_id))
        cos, sin = rotary(0, L + rows, c.head_dim, c.rope_theta)
        flat = positions.view(B, A * rows)
        rope, context_rope = (cos[flat][:, None], sin[flat][:, None]), (cos[:L], sin[:L])
        context = self.hidden_norm(self.fc(taps))
        mask = (torch.arange(L) < anchors[:, :, None])[:, None, :, None]  # (B, 1, A, 1, L)
        for layer in self.layers:
            x = layer(x, rope, context, context_rope, mask)
        return self.norm(x)
