"""f_theta: restores the target's keys and values from those of its drafter.

The drafter runs as a plain causal stack over the text's embeddings as they are stored, without
taps. Each of its layers gives keys and values before norm and rotary embedding. Two linear chains,
one for keys and one for values, map those of all its layers at a position to those of each layer of
the target.
"""

import torch
import torch.nn.functional as F
from torch import nn

from model import rotary
from retriever import Rows

MAGNITUDE = 0.1  # weight of the norms of keys and of values in the loss


def stack(drafter, target, tokens):
    """Returns the keys and the values of the drafter's layers over tokens (B, L), both (B, L, layers KV D)."""
    c, length = drafter.config, tokens.shape[1]
    cos, sin = rotary(0, length, c.head_dim, c.rope_theta)
    mask = torch.ones(length, length, dtype=torch.bool).tril()[None, None]
    x = target.embed_tokens(tokens)
    keys, values = [], []
    for layer in drafter.layers:
        h = layer.input_layernorm(x)
        keys.append(layer.self_attn.k_proj(h))
        values.append(layer.self_attn.v_proj(h))
        if layer is not drafter.layers[-1]:  # what the last layer puts out is not read
            x = layer(x, (cos, sin), x[:, :0], (cos[:0], sin[:0]), mask)
    return torch.cat(keys, dim=-1), torch.cat(values, dim=-1)


class FTheta(nn.Module):
    def __init__(self, drafter, target, rank):
        """drafter and target are configs."""
        super().__init__()
        self.drafter, self.target, self.rank = drafter, target, rank
        inputs = drafter.num_hidden_layers * drafter.num_key_value_heads * drafter.head_dim
        row = target.num_key_value_heads * target.head_dim
        self.encoder_k = nn.Linear(inputs, rank, bias=False)
        self.encoder_v = nn.Linear(inputs, rank, bias=False)
        self.decoders_k = nn.ModuleList(nn.Linear(rank, row, bias=False) for _ in range(target.num_hidden_layers))
        self.decoders_v = nn.ModuleList(nn.Linear(rank, row, bias=False) for _ in range(target.num_hidden_layers))
        for p in self.parameters():
            nn.init.normal_(p, std=p.shape[1] ** -0.5)

    def forward(self, keys, values):
        """Returns {layer of the target: Rows}."""
        shape = (*keys.shape[:2], self.target.num_key_value_heads, self.target.head_dim)
        k, v = self.encoder_k(keys), self.encoder_v(values)
        decoders = zip(self.decoders_k, self.decoders_v)
        return {i: Rows(dk(k).view(shape), dv(v).view(shape)) for i, (dk, dv) in enumerate(decoders)}

    def config_json(self):
        d, t = self.drafter, self.target
        return {
            "drafter_num_layers": d.num_hidden_layers,
            "drafter_num_kv_heads": d.num_key_value_heads,
            "drafter_head_dim": d.head_dim,
            "verifier_num_layers": t.num_hidden_layers,
            "verifier_num_kv_heads": t.num_key_value_heads,
            "verifier_head_dim": t.head_dim,
            "rank": self.rank,
            "embedding": "raw",
        }

    @torch.no_grad()
    def reduced(self, rank, keys, values):
        """Returns the f_theta of a lower rank that comes nearest to this one on keys and values of a stack.

        It keeps the principal components of what the encoder's rows become in all layers together.
        """
        low = FTheta(self.drafter, self.target, rank)
        for name, rows in (("k", keys), ("v", values)):
            encoder = getattr(self, "encoder_" + name).weight
            decoders = [d.weight for d in getattr(self, "decoders_" + name)]
            whole = torch.cat(decoders) @ encoder  # (all rows, inputs)
            outputs = rows.flatten(0, -2) @ whole.T
            basis = torch.linalg.eigh(outputs.T @ outputs)[1][:, -rank:]  # (all rows, rank)
            getattr(low, "encoder_" + name).weight.copy_(basis.T @ whole)
            for decoder, part in zip(getattr(low, "decoders_" + name), basis.split(decoders[0].shape[0])):
                decoder.weight.copy_(part)
        return low


class Record:
    """What the target's layers computed over a text: {layer: (queries, keys, values, output of attention)}.

    Queries, keys and values are those before norm and rotary embedding.
    """

    def __init__(self):
        self.layers = {}

    def __call__(self, layer, *parts):
        self.layers[layer] = parts


def loss(target, record, rows, there):
    """Returns how far rows are from the record, the mean of the layers. there (B, L) tells text from padding.

    A layer's parts are:
    - the error of its attention's output with these rows in place of its own ones, relative to that output
    - 1 - cosine of the keys after their norm, and of the values
    - MAGNITUDE times the relative error of the norms of keys and of values.
    """
    length = there.shape[1]
    rope = rotary(0, length, target.config.head_dim, target.config.rope_theta)
    total = 0.0
    for i, (q, k, v, y) in record.layers.items():
        attention, own = target.layers[i].self_attn, rows[i]
        error = (attention.attend(q, k, v, rope, own) - y).square().sum(-1)[there].mean()
        total = total + error / y.square().sum(-1)[there].mean()
        pairs = (attention.k_norm(own.k), attention.k_norm(k)), (own.v, v)
        total = total + sum(1 - F.cosine_similarity(a.float(), b.float(), dim=-1)[there].mean() for a, b in pairs)
        norms = [(a.norm(dim=-1)[there], b.norm(dim=-1)[there]) for a, b in ((own.k, k), (own.v, v))]
        total = total + MAGNITUDE * sum((a - b).square().mean() / b.square().mean() for a, b in norms)
    return total / len(record.layers)
