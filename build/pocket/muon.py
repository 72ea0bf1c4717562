"""Muon (Jordan et al. 2024), the optimizer for the matrices inside the layers.

It is momentum. Each update is brought near the closest orthogonal matrix. A matrix can be split into
blocks, of heads or of neurons, which are then orthogonal each by itself. That is several times as
quick.
"""

import torch


def orthogonal(g, steps=5):
    """Returns matrices (..., rows, columns) with g's singular vectors and with singular values near 1.

    A quintic Newton-Schulz iteration computes it in bfloat16.
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.bfloat16()
    wide = x.shape[-2] <= x.shape[-1]
    x = x if wide else x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        s = x @ x.mT
        x = a * x + (b * s + c * s @ s) @ x
    return (x if wide else x.mT).float()


def blocks(x, rows, columns):
    """Returns the blocks of rows x columns of a matrix, (how many, rows, columns)."""
    high, wide = x.shape[0] // rows, x.shape[1] // columns
    return x.view(high, rows, wide, columns).transpose(1, 2).reshape(high * wide, rows, columns)


def joined(x, shape):
    """Returns the matrix of a shape whose blocks are x."""
    _, rows, columns = x.shape
    return x.view(shape[0] // rows, shape[1] // columns, rows, columns).transpose(1, 2).reshape(shape)


class Muon(torch.optim.Optimizer):
    """A group of params may name the rows and the columns of a block; without them a matrix is one."""

    def __init__(self, params, lr, momentum=0.95, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "rows": None, "columns": None})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, momentum = group["lr"], group["momentum"]
            for p in group["params"]:
                state = self.state[p]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(p)
                m = state["momentum"].lerp_(p.grad, 1 - momentum)
                parts = blocks(p.grad.lerp(m, momentum), group["rows"] or p.shape[0], group["columns"] or p.shape[1])
                # The update is as large as that of the whole matrix would be.
                scale = max(p.shape) / p.shape[1] * min(p.shape) / (len(parts) * min(parts.shape[1:]))
                p.mul_(1 - lr * group["weight_decay"]).add_(joined(orthogonal(parts), p.shape), alpha=-lr * scale**0.5)
