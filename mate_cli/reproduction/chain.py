"""A training as the paper's tables name it: its words, its seed, and the training that it starts from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chain:
    """``mate train`` with the words ``of``, from the backbone or from the best model of ``parent``."""

    of: str
    parent: Chain | None
    seed: int

    @property
    def chain(self) -> str:
        """The options named by the words, those of the parents first."""
        own = " ".join(word.partition("=")[2] for word in self.of.split())
        return own if self.parent is None else f"{self.parent.chain} > {own}"

    @property
    def title(self) -> str:
        return f"train {self.chain}, seed {self.seed}"
