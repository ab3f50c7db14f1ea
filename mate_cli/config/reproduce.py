"""The configuration of ``mate reproduce``."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING

from mate_cli.config.model import BackboneConfig
from mate_cli.config.paths import PathsConfig
from mate_cli.config.rules import key

SCHEDULES = ("paper", "small", "evening", "released", "laptop", "smoke")


@dataclass
class DataConfig:
    """Folders with the data of the tasks; rows that need what is not named are left out.

    With ``schedule=smoke`` the generated sample, in the layout of each, stands for what is not named.
    """

    hybridqa: str | None = key(
        None, "folder of HybridQA; null with schedule=smoke: the generated sample", text=True, reads="folder"
    )
    sqa: str | None = key(None, "folder of SQA; null as hybridqa", text=True, reads="folder")
    wtq: str | None = key(None, "folder of WikiTableQuestions; null as hybridqa", text=True, reads="folder")
    tabfact: str | None = key(None, "folder of TabFact; null as hybridqa", text=True, reads="folder")
    tables: str | None = key(None, "folder of tables to pre-train on; null as hybridqa", text=True, reads="folder")
    queries: str | None = key(None, "folder of tables to ask about; null as hybridqa", text=True, reads="folder")


@dataclass
class ReproduceConfig:
    """Make a table or figure of the paper: plan, run what is missing, print ours beside the paper's."""

    what: str = key(
        MISSING,
        "table1 and so on, figure1 and so on, equivalence, stages, ratio, linformer_k, queries, after_queries, "
        "released, dose, chains, all",
        text=True,
    )
    schedule: str = key("laptop", "schedule of every training", choices=SCHEDULES)
    backbone: BackboneConfig | None = None
    seeds: int = key(1, "runs of the last training of each row, with seeds 0, 1, 2...; the paper has 5", low=1)
    only: str | None = key(None, "this row alone", text=True)
    pretrain: bool = key(True, "start from pre-training on tables, as the paper; false: from the backbone as it is")
    data: DataConfig = field(default_factory=DataConfig)
    words: str | None = key(None, "further words for every mate train, as 'hardware=gpu logger=wandb'", text=True)
    paths: PathsConfig = field(default_factory=PathsConfig)
    to: str = key("./reproduced", "folder for tables and figures", text=True, writes="folder")
    dry_run: bool = key(False, "run nothing: the plan, and the tables as far as they are")
    again: bool = key(False, "run what is finished, too, once more")

    def problems(self) -> list[str]:
        """Nothing is run again where nothing is run; rows are of one table."""
        problems = ["again belongs to running: leave out dry_run"] if self.again and self.dry_run else []
        if self.only is not None and self.what == "all":
            problems.append("only names a row of one table: add what=table5 or another")
        return problems
