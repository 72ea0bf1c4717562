"""Measures recall of the arms, and the errors of the rows that they restore. No engine takes part.

An answer counts if greedy decoding gives the whole code and ends. One forward over prompt and right
answer tells that: every answer token is the most likely one after the tokens before it. In each arm
a token depends on earlier tokens alone, so decoding computes the same.
"""

import math

import torch

import ftheta
import prompts
from dflash import Drafter, read
from retriever import SINK, WINDOW, Rows

BATCH = 4  # prompts a forward
BAR = 0.36  # relative error of the recall-carrying layers at which recall is said to be whole
ALPHAS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.8)  # shares of true rows in mixtures with those of the lowest rank
NOISES = (0.1, 0.36, 0.8, 1.6, 3.2, 6.4)  # relative errors of true rows with noise


class Texts:
    """The prompts of an evaluation, with what the target and the drafter's stack compute over them."""

    def __init__(self, target, drafter, encoder, size, count, seed=prompts.SEED):
        self.target, self.batches = target, []
        made = prompts.prompts(size, count, seed)
        for i in range(0, count, BATCH):
            rows, answers = encoder.rows(made[i : i + BATCH])
            record = ftheta.Record()
            with torch.no_grad():
                target.hidden(rows[:, :-1], record=record)
                stack = ftheta.stack(drafter, target, rows[:, :-1])
            own = {layer: Rows(k, v) for layer, (_, k, v, _) in record.layers.items()}
            self.batches.append((rows, answers, own, stack))

    @torch.no_grad()
    def recall(self, restore):
        """Returns the share of codes found. restore(own, stack) gives the bounded layers' rows."""
        found = []
        for rows, answers, own, stack in self.batches:
            states = self.target.hidden(rows[:, :-1], restored=restore(own, stack))
            right = self.target.unembed(states).argmax(-1) == rows[:, 1:]
            found += (right | ~answers[:, 1:]).all(1).tolist()
        return sum(found) / len(found)

    @torch.no_grad()
    def error(self, restore, layers, names=("k", "v")):
        """Returns the squared error of restored rows of some layers, relative to the true rows' squares.

        It counts the rows that the last token of each question attends as restored ones.
        """
        wrong = whole = 0.0
        for rows, answers, own, stack in self.batches:
            made = restore(own, stack)
            for i, answer in enumerate(answers):
                there = slice(SINK, int(answer.int().argmax()) - WINDOW)
                for layer in layers:
                    for name in names:
                        true, other = (getattr(r, name)[i, there] for r in (own[layer], made[layer]))
                        wrong += (true - other).square().sum().item()
                        whole += true.square().sum().item()
        return round(wrong / whole, 4)


def bare(layers):
    return {i: Rows() for i in layers}


def mixed(alpha, f_theta):
    """Returns an arm of alpha parts true rows and 1 - alpha parts restored ones."""

    def restore(own, stack):
        made = f_theta(*stack)
        return {i: Rows(*(torch.lerp(getattr(r, n), getattr(own[i], n), alpha) for n in ("k", "v"))) for i, r in made.items()}

    return restore


def noisy(error):
    """Returns an arm of true rows with Gaussian noise of that relative error, the same in all directions."""

    def restore(own, stack):
        draw = torch.Generator().manual_seed(prompts.SEED)
        spoil = lambda x: x + torch.randn(x.shape, generator=draw) * (error * x.square().mean()).sqrt()
        return {i: Rows(spoil(r.k), spoil(r.v)) for i, r in own.items()}

    return restore


def without(arm, exact):
    """Returns arm with exact layers: they keep all their own rows."""
    return lambda own, stack: {i: rows for i, rows in arm(own, stack).items() if i not in exact}


def arms(target, f_theta):
    """Returns {name: arm}."""
    layers = range(target.config.num_hidden_layers)
    empty = lambda own, stack: bare(layers)
    identity = lambda own, stack: dict(own)
    restored = lambda own, stack: f_theta(*stack)
    found = {"oracle": lambda own, stack: {}, "sink-window": empty, "identity": identity, "f_theta": restored}
    for i in layers:
        found[f"identity, layer {i} by f_theta"] = lambda own, stack, i=i: own | {i: f_theta(*stack)[i]}
        found[f"identity, layer {i} sink-window"] = lambda own, stack, i=i: own | bare([i])
    for i in layers:
        for name, arm in (("sink-window", empty), ("identity", identity), ("f_theta", restored)):
            found[f"exact layer {i}, others {name}"] = without(arm, [i])
    return found


def carrying(recalls, layers):
    """Returns the layers without whose restored rows recall is lost, though the others are true.

    If none is lost without any one of them, they all carry it.
    """
    return [i for i in layers if recalls[f"identity, layer {i} sink-window"] < 0.5 * recalls["identity"]] or layers


def curve(texts, f_theta, lower, layers, log):
    """Returns points {"series", "arm", "rel_mse", "recall"}. rel_mse is that of the recall-carrying layers.

    The series are f_thetas by rank, mixtures of the lowest rank's rows with true ones, and noise.
    """
    found = [("rank", f"rank {f.rank}", mixed(0.0, f)) for f in (f_theta, *lower)]
    worst = lower[-1]
    found += [("mixture", f"rank {worst.rank}, {alpha:.0%} true", mixed(alpha, worst)) for alpha in ALPHAS]
    found += [("noise", f"noise of {error}", noisy(error)) for error in NOISES]
    points = []
    for series, name, arm in found:
        points.append({"series": series, "arm": name, "rel_mse": texts.error(arm, layers), "recall": texts.recall(arm)})
        log(f"{points[-1]}")
    return points


@torch.no_grad()
def tokens_per_verify(drafter, target, encoder, size, count):
    """Returns the tokens of an answer that a verify forward yields. The first one comes from the prompt's forward."""
    tokens, forwards = 0, 0
    for p in prompts.prompts(size, count):
        rows, answers = encoder.rows([p])
        length = int(answers.sum())
        anchors = rows.shape[1] - length + torch.arange(length - 1)[None]
        reading = read(target, rows, drafter.config.target_layer_ids)
        logits = drafter(target, reading[1], rows, anchors)
        at = (anchors[0][:, None] + torch.arange(1, drafter.config.block_size)).clamp(max=rows.shape[1])
        aims = torch.cat((rows[0], torch.tensor([-1])))[at]
        accepts = (logits[0].argmax(-1) == aims).int().cumprod(-1).sum(-1).tolist()
        i = 0
        while i < length - 1:
            i += accepts[i] + 1
            forwards += 1
        tokens += length - 1
    return round(tokens / forwards, 2)


def report(target, drafter, f_theta, lower, encoder, count, log=print):
    """Returns the figures of the model card. lower are f_thetas of lower ranks."""
    layers = list(range(target.config.num_hidden_layers))
    texts = Texts(target, drafter, encoder, "ctx70", count)
    found = {"size": "ctx70", "samples": count, "seed": prompts.SEED, "recall": {}}
    for name, arm in arms(target, f_theta).items():
        found["recall"][name] = texts.recall(arm)
        log(f"{name}: recall {found['recall'][name]:.3f}")
    found["carrying_layers"] = carrying(found["recall"], layers)
    restored = mixed(0.0, f_theta)
    found["rel_mse"] = {str(i): {n: texts.error(restored, [i], n) for n in ("k", "v")} for i in layers}
    found["rel_mse of carrying layers"] = texts.error(restored, found["carrying_layers"])
    log(f"layers {found['carrying_layers']} carry recall; rel_mse {found['rel_mse']}")
    found["curve"] = curve(texts, f_theta, lower, found["carrying_layers"], log)
    long = Texts(target, drafter, encoder, "ctx280", count // 2)
    picked = ("oracle", "sink-window", "identity", "f_theta")
    found["ctx280"] = {"samples": count // 2} | {n: long.recall(arms(target, f_theta)[n]) for n in picked}
    log(f"ctx280: {found['ctx280']}")
    untrained = Drafter(drafter.config)
    untrained.norm.weight.data.copy_(target.norm.weight)
    pairs = {"drafter": drafter, "random": untrained}
    found["tokens per verify"] = {n: tokens_per_verify(d, target, encoder, "ctx70", count) for n, d in pairs.items()}
    log(f"tokens per verify: {found['tokens per verify']}")
    return found


def svg(points):
    """Returns the curves of recall against rel_mse as a picture. rel_mse has a logarithmic axis."""
    width, height, left, top = 560, 340, 60, 20
    right, bottom = width - 120, height - 50
    least, most = 0.001, 10.0
    x = lambda e: left + (right - left) * (math.log(min(max(e, least), most)) - math.log(least)) / (math.log(most) - math.log(least))
    y = lambda r: bottom - (bottom - top) * r
    text = lambda at, down, words, more="": f'<text x="{at:.1f}" y="{down:.1f}" {more}>{words}</text>'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#333"/>',
        f'<path d="M{x(BAR):.1f} {top}V{bottom}" stroke="#999" stroke-dasharray="4 4"/>',
        text(x(BAR) + 4, bottom - 6, BAR, 'fill="#666"'),
        *(text(left - 8, y(r) + 4, r, 'text-anchor="end"') for r in (0.0, 0.5, 1.0)),
        *(text(x(e), bottom + 18, e, 'text-anchor="middle"') for e in (0.001, 0.01, 0.1, 1.0, 10.0)),
        text((left + right) / 2, height - 10, "rel_mse of the recall-carrying layers", 'text-anchor="middle"'),
        text(0, 0, "recall", f'text-anchor="middle" transform="translate(16 {(top + bottom) / 2}) rotate(-90)"'),
    ]
    for i, (series, colour) in enumerate({"rank": "#2563eb", "mixture": "#d97706", "noise": "#059669"}.items()):
        own = sorted((p for p in points if p["series"] == series), key=lambda p: p["rel_mse"])
        line = " ".join(f"{x(p['rel_mse']):.1f},{y(p['recall']):.1f}" for p in own)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}"/>')
        circle = '<circle cx="{:.1f}" cy="{:.1f}" r="3.5" fill="{}"><title>{}</title></circle>'
        parts += [circle.format(x(p["rel_mse"]), y(p["recall"]), colour, p["arm"]) for p in own]
        parts.append(text(right + 20, top + 20 + 18 * i, series, f'fill="{colour}"'))
    return "\n".join([*parts, "</svg>"]) + "\n"
