"""The configuration class of each command."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING

from mate_cli.config.analysis import AnalyzeConfig
from mate_cli.config.bench import BenchConfig
from mate_cli.config.evaluation import EvaluateConfig
from mate_cli.config.inference import AskConfig, PredictConfig
from mate_cli.config.paths import PathsConfig
from mate_cli.config.reproduce import ReproduceConfig
from mate_cli.config.rules import key
from mate_cli.config.runs import RunsConfig
from mate_cli.config.task import LEAST_TOKENS
from mate_cli.config.train import PrepareConfig, TrainConfig


@dataclass
class ExportConfig:
    """Write a run's best model as a folder for Hugging Face's libraries or ONNX Runtime, with a model card."""

    run: str = key(MISSING, "run folder", text=True, reads="run")
    to: str = key(MISSING, "folder to write", text=True, writes="folder")
    overwrite: bool = key(False, "replace the files of an export that stands there")
    format: str = key(
        "safetensors",
        "what the model is written as; onnx: a graph for ONNX Runtime, with dense attention",
        choices=("safetensors", "onnx"),
    )
    dtype: str = key(
        "float32", "safetensors: numbers of the weights; float16: half the size", choices=("float32", "float16")
    )
    average: list[str] | None = key(
        None, "other runs or exports of this model; the mean of the weights of all is written", reads="run"
    )
    base: str | None = key(
        None,
        "safetensors: export of another model beside the new one; tensors that both have are not written again",
        text=True,
        reads="folder",
    )
    quantize: str | None = key(None, "onnx: weights in fewer bits; null: float32", choices=("int8",))
    max_tokens: int | None = key(None, "onnx: most tokens of an input; null: as in training", low=LEAST_TOKENS)

    def problems(self) -> list[str]:
        """Each format has keys of its own."""
        of_graph = {"quantize": self.quantize, "max_tokens": self.max_tokens}
        if self.format == "onnx":
            of_weights = {"dtype": self.dtype != "float32", "base": self.base is not None}
            return [f"{name} belongs to format=safetensors" for name, given in of_weights.items() if given]
        return [f"{name} belongs to format=onnx" for name, value in of_graph.items() if value is not None]


@dataclass
class ReportConfig:
    """One HTML page of all that has been run."""

    paths: PathsConfig = field(default_factory=PathsConfig)
    where: str | None = key(None, "only runs with these values, as mate runs takes them", text=True)
    tables: list[str] | None = key(
        None,
        "folders with what reproduce, bench and analyze wrote: their Markdown, with its pictures; null: ./reproduced, "
        "where there is one",
        reads="folder",
    )
    to: str = key("./report.html", "file to write", text=True, writes="file")


ROOTS: dict[str, type] = {
    "prepare": PrepareConfig,
    "train": TrainConfig,
    "evaluate": EvaluateConfig,
    "predict": PredictConfig,
    "ask": AskConfig,
    "analyze": AnalyzeConfig,
    "bench": BenchConfig,
    "export": ExportConfig,
    "runs": RunsConfig,
    "reproduce": ReproduceConfig,
    "report": ReportConfig,
}


# The commands that no Hydra composes, and how many words each takes at most.
PLAIN = {"ls": 1, "doctor": 0, "completion": 2}


# What words without a key set, in their order, each unless a key of its tuple is given:
# mate ask FILE QUESTION is mate ask table=FILE question=QUESTION.
UNNAMED = {
    "ask": (("table",), ("question",)),
    "predict": (("table", "tables"), ("question", "questions", "statement")),
}
