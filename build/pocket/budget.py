"""A training loop that fits a wall-clock budget, saves every five minutes and resumes by itself."""

import os
import time

import torch

SAVE_SECONDS = 300
WARMUP_STEPS = 40
FLAT = 0.4  # share of the budget before the learning rates fall linearly to 0


class Budget:
    """Yields step numbers until minutes of clock are spent, at first of wall clock.

    Earlier, interrupted runs count too.
    The caller updates module by opts once a step. Learning rates warm up, stay flat, then fall to
    0. The state lies at path.
    """

    def __init__(self, path, module, opts, minutes, log=print, clock=time.monotonic):
        self.path, self.module, self.opts, self.minutes, self.log = path, module, opts, minutes, log
        self.clock = clock
        self.step, self.seconds = 0, 0.0
        self.notes = {}  # the caller's own, saved with the state
        if os.path.exists(path):
            saved = torch.load(path, map_location="cpu", weights_only=True)
            module.load_state_dict(saved["model"])
            for opt, state in zip(opts, saved["optimizers"]):
                opt.load_state_dict(state)
            self.step, self.seconds, self.notes = saved["step"], saved["seconds"], saved["notes"]
            log(f"resumed at step {self.step}, minute {self.seconds / 60:.1f}")

    def save(self):
        state = {
            "model": self.module.state_dict(),
            "optimizers": [opt.state_dict() for opt in self.opts],
            "step": self.step,
            "seconds": self.seconds,
            "notes": self.notes,
        }
        torch.save(state, self.path + ".part")
        os.replace(self.path + ".part", self.path)
        self.log(f"saved at step {self.step}")

    def __iter__(self):
        rates = [[g.setdefault("initial_lr", g["lr"]) for g in opt.param_groups] for opt in self.opts]
        last_save, clock = self.seconds, self.clock()
        done = self.seconds >= 60 * self.minutes
        while not done:
            progress = self.seconds / (60 * self.minutes)
            factor = min(1, (self.step + 1) / WARMUP_STEPS, (1 - progress) / (1 - FLAT))
            for opt, lrs in zip(self.opts, rates):
                for group, lr in zip(opt.param_groups, lrs):
                    group["lr"] = lr * factor
            yield self.step
            now = self.clock()
            self.seconds, clock, self.step = self.seconds + now - clock, now, self.step + 1
            done = self.seconds >= 60 * self.minutes
            if done or self.seconds - last_save > SAVE_SECONDS:
                self.save()
                last_save = self.seconds
