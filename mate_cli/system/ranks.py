"""Which of the processes of a run on several devices this one is, before the libraries of the run are there to ask."""

from __future__ import annotations

import os


def is_first_rank() -> bool:
    """Return True for the process that speaks and writes for the run: the only one, or the first of all machines.

    As torchrun, Lightning and SLURM tell their processes. SLURM sets its variable also where it started one process
    only, which then starts others, so it is asked last.
    """
    if "RANK" in os.environ:
        return os.environ["RANK"] == "0"
    if "LOCAL_RANK" in os.environ or "NODE_RANK" in os.environ:
        return all(os.environ.get(name, "0") == "0" for name in ("NODE_RANK", "LOCAL_RANK"))
    return os.environ.get("SLURM_PROCID", "0") == "0"


def is_first_on_host() -> bool:
    """Return True for the process that a scheduler or a user started on this machine, not one that it started."""
    return os.environ.get("LOCAL_RANK", "0") == "0"
