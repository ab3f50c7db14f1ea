"""Train by one program over four devices of torch-xla's processor; a process of its own, which stays in that mode.

Arguments: runs, cache, and the trainings, divided by "--", each with words of ``mate train``. Each leaves a copy of
its run folder as it was at step 2, with "-2" after its name. Prints JSON: for each training its run folder, the
compilations after each micro-batch, and the operations that fell back to the CPU.
"""

from __future__ import annotations

import json
import shutil
import sys
from itertools import groupby
from pathlib import Path

from mate_cli.training.callbacks import Checkpoints
from tests.training.xla_runs import train


def keep_copy(checkpoints, trainer, save_last=Checkpoints.save_last):
    save_last(checkpoints, trainer)
    path = checkpoints.folder.path
    if trainer.global_step == 2:
        shutil.copytree(path, path.with_name(f"{path.name}-2"))


if __name__ == "__main__":
    Checkpoints.save_last = keep_copy
    runs, cache, *words = sys.argv[1:]
    report = []
    for is_border, own in groupby(words, lambda word: word == "--"):
        if not is_border:
            folder, counts = train(Path(runs), Path(cache), "hardware.devices=4", "hardware.strategy=spmd", *own)
            report.append((str(folder.path), counts.compilations, counts.fallbacks))
            folder.release()
    print(json.dumps(report))
