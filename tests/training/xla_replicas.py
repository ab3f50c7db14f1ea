"""Train on all devices of torch-xla's processor; arguments: runs, cache, and words of ``mate train``.

A program of its own, with a time limit: replicas that miss each other wait, or end the process.
"""

from __future__ import annotations

import sys

from rich.console import Console

from mate_cli.training import fit, shapes
from tests.training import lockstep
from tests.training.test_every_model import composed
from tests.training.xla_runs import SMALL

if __name__ == "__main__":
    shapes.COMPILATION = 0  # so that a few steps have several classes
    runs, cache, replicas, *words = sys.argv[1:]
    config = composed("hardware=xla_cpu", *SMALL, f"paths.runs={runs}", f"paths.cache={cache}", *words)
    config.hardware.devices = int(replicas)
    if config.hardware.devices > 1:
        lockstep.install(config.hardware.devices)
    print(fit.train(config, Console()).path)
