"""Known vulnerabilities of the pinned versions, and the licences of what is installed: ``make audit``.

Exit codes: 0; 1 where there is a vulnerability or a licence to look at; 2 where the advisories cannot be read.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# As the packages call them; anything else is to be looked at by a person.
PERMISSIVE = (
    "MIT",
    "BSD",
    "Apache",
    "ISC",
    "PSF",
    "Python Software Foundation",
    "Unlicense",
    "HPND",
    "CNRI",
    "Zlib",
    "0BSD",
)
WEAK = ("MPL", "Mozilla")  # shares changes to its own files only


def main(python: str) -> int:
    """Look at both; ``python`` is the one whose packages are listed."""
    return max(report_advisories(), report_licences(python))


def report_advisories() -> int:
    requirements = str(ROOT / "constraints.txt")
    command = ["pip_audit", "--requirement", requirements, "--no-deps", "--disable-pip", "--format", "json"]
    done = module([*command, "--progress-spinner", "off"])
    found = json.loads(done.stdout)["dependencies"] if done.stdout.strip() else []
    skipped = [own for own in found if "skip_reason" in own]
    wrong = [own for own in found if own.get("vulns")]
    for own in wrong:
        for advisory in own["vulns"]:
            mended = ", ".join(advisory["fix_versions"]) or "no version yet"
            print(f"{own['name']} {own['version']}: {advisory['id']}, mended in {mended}")
    print(f"advisories: {len(found) - len(skipped)} packages looked up, {len(wrong)} with a vulnerability")
    if skipped or not found:
        print(
            f"NOT AUDITED: {len(skipped) or 'all'} packages; the advisories of pypi.org cannot be reached from here "
            "(a mirror of packages does not have them). Run make audit where they can."
        )
    return 1 if wrong else 2 if skipped or not found else 0


def report_licences(python: str) -> int:
    done = module(["piplicenses", "--python", python, "--format", "json", "--from", "mixed"])
    packages: list[dict[str, Any]] = json.loads(done.stdout)
    by_licence: dict[str, list[str]] = defaultdict(list)
    for own in packages:
        by_licence[own["License"].splitlines()[0][:60]].append(own["Name"])
    for licence, names in sorted(by_licence.items()):
        print(f"{licence}: {', '.join(sorted(names))}")
    other = [licence for licence in by_licence if not any(name in licence for name in (*PERMISSIVE, *WEAK))]
    print(f"licences: {len(packages)} packages, {len(by_licence)} licences; to look at: {', '.join(other) or 'none'}")
    return 1 if other else 0


def module(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=False, timeout=600)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
