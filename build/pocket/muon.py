"""Muon (Jordan et al. 2024), the optimizer for the matrices inside the layers.

It is momentum. Each update is brought near the closest orthogonal matrix.
"""

import torch


def orthogonal(g, steps=5):
    """Returns a matrix with g's singular vectors and with singular values near 1.

    A quintic Newton-Schulz iteration computes it in bfloat16.
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.bfloat16()
    wide = x.shape[0] <= x.shape[1]
    x = x if wide else x.T
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return (x if wide else x.T).float()


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.95, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, momentum = group["lr"], group["momentum"]
            for p in group["params"]:
                state = self.state[p]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(p)
                m = state["momentum"].lerp_(p.grad, 1 - momentum)
                update = orthogonal(p.grad.lerp(m, momentum))
                scale = max(1.0, p.shape[0] / p.shape[1]) ** 0.5
                p.mul_(1 - lr * group["weight_decay"]).add_(update, alpha=-lr * scale)
