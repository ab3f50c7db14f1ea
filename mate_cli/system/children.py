"""What a child process that runs this code is started with."""

from __future__ import annotations

import os
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def child_environment(**more: str) -> dict[str, str]:
    """Return the environment of a child: that of this process, with ``more``.

    The child imports this code, even if it is not installed, and no module from the current folder, which is a user's.
    """
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", **more}
