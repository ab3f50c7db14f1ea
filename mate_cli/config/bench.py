"""The configuration of ``mate bench``: suites of grids of points, and what the command line puts in their place."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING

from mate_cli.config.rules import key

DEVICES = ("auto", "cpu", "cuda")
DTYPES = ("fp32", "bf16")
SHAPES = ("grid", "long", "wide", "square")
GENERATED = (*SHAPES, "column", "columns_2", "columns_20", "columns_40", "mixed")
REAL_TABLES = ("hybridqa", "sqa", "wtq", "tabfact")
LAYOUTS = (*GENERATED, *REAL_TABLES)
MEASURES = ("speed", "flops", "memory", "largest_batch")
MODES = ("forward", "training")
SIZES = ("tiny", "minilm", "base", "large")


@dataclass
class GridConfig:
    """Points of a bench: every combination of its lists, and what is measured there of which models."""

    models: list[str] = key(["limit", "mate"], "options of model, limit, hf_tapas, dense_sdpa; MODEL@BACKEND; all")
    sizes: list[str] = key(["minilm"], "width, heads and feed-forward width of the encoder", choices=SIZES)
    lengths: list[int] = key([2048], "tokens of an example", low=64)
    batches: list[int] = key([1], "examples of a batch", low=1)
    layouts: list[str] = key(
        ["grid"],
        "generated tables: 6 or 4 columns, 6 rows, square, 1 to 40 columns, unequal lengths; or sizes of real ones",
        choices=LAYOUTS,
    )
    questions: list[int] = key([20], "tokens of the question; mixed and real tables have their own", low=1)
    dropouts: list[float] = key([0.0], "share of the attention probabilities that is dropped", low=0, below=1)
    modes: list[str] = key(["forward"], "forward alone, or forward and backward", choices=MODES)
    dtypes: list[str] = key(["fp32"], "arithmetic of the encoder", choices=DTYPES)
    measures: list[str] = key(["speed", "flops", "memory"], "what is measured", choices=MEASURES)


@dataclass
class SuiteConfig:
    """The measurements of a bench, and how often each is taken."""

    name: str = key(MISSING, "name of the option")
    rounds: int = key(11, "rounds in which each model has its turn", low=3)
    point_seconds: float = key(120.0, "no new round after this time at a point, three rounds apart", above=0)
    call_seconds: float = key(30.0, "a model whose call takes longer is left out", above=0)
    grids: dict[str, GridConfig] = field(default_factory=dict)


@dataclass
class BenchConfig:
    """Measure speed, FLOPs and memory of encoders side by side."""

    suite: SuiteConfig = field(default_factory=SuiteConfig)
    run: str | None = key(
        None,
        "run folder, or a folder of a published TAPAS: its model at its size, beside limit and hf_tapas or the models "
        "named; the weights do not matter",
        text=True,
        reads="run",
    )
    models: list[str] | None = key(None, "instead of the models of the suite's grids; see suite.grids.*.models")
    sizes: list[str] | None = key(None, "instead of the grids' sizes", choices=SIZES)
    lengths: list[int] | None = key(None, "instead of the grids' lengths", low=64)
    batches: list[int] | None = key(None, "instead of the grids' batches", low=1)
    layouts: list[str] | None = key(None, "instead of the grids' layouts", choices=LAYOUTS)
    questions: list[int] | None = key(None, "instead of the grids' questions", low=1)
    dropouts: list[float] | None = key(None, "instead of the grids' dropouts", low=0, below=1)
    modes: list[str] | None = key(None, "instead of the grids' modes", choices=MODES)
    dtypes: list[str] | None = key(None, "instead of the grids' dtypes", choices=DTYPES)
    measures: list[str] | None = key(None, "instead of the grids' measures", choices=MEASURES)
    layers: int | None = key(None, "layers of the encoder; cost is linear in them; null: 2, or those of run", low=1)
    device: str = key("auto", "where to compute; auto: on a GPU where there is one", choices=DEVICES)
    threads: int | None = key(None, "CPU threads; null: as PyTorch decides", low=1)
    memory: float | None = key(None, "GiB that a call may take; null: three quarters of what is free", above=0)
    to: str = key("./bench", "folder for results, tables and figures", text=True, writes="folder")
    overwrite: bool = key(False, "replace the results in that folder")
    resume: bool = key(False, "keep the results in that folder, measure the points that are missing")
    seed: int = key(0, "seed of tables and weights", low=0, high=2**32 - 1)

    def problems(self) -> list[str]:
        """Results are either kept or replaced, and a run has its own size."""
        lines = ["resume and overwrite: set at most one of them to true"] if self.resume and self.overwrite else []
        return lines + (["run and sizes: set one of them; a run has its own size"] if self.run and self.sizes else [])
