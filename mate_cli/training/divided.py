"""The micro-batches of all devices of a host in one batch, for one program over them (``mate_cli.training.spmd``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import torch
from torch import Tensor

from mate_cli.attention import Plan
from mate_cli.encoding.batch import Batch, Collator
from mate_cli.training.mesh import share_of, to_devices


@dataclass(frozen=True)
class DividedBatch(Batch):
    """The shares of the devices, one after another in the first dimension of every tensor, those of the plan included.

    Numbers of documents, cells and tokens are within a share. Only ``plan.place``, by which dropout is drawn, counts
    the documents of all shares, so a batch has the same dropout on one device and on several.

    Attributes:
        shares: the micro-batch of each device, in main memory.
    """

    shares: tuple[Batch, ...]

    def to(self, device: torch.device | str, non_blocking: bool = True) -> Self:
        """Move each share to its device."""
        assert torch.device(device).type == "xla"
        moved: dict[str, Any] = {name: to_devices(value) for name, value in self.tensors()}
        return replace(self, plan=self.plan.mapped(to_devices), **moved)

    def share(self) -> Batch:
        """Return the share of each device, to compute with; without names, texts and answers, which are those of all.

        Drop it before the program runs: what is kept is a result of the program. And torch-xla takes programs that
        differ only in which of two results of one shape they read for the same.
        """
        shares: dict[str, Any] = {name: share_of(value) for name, value in self.tensors()}
        first = {field.name: getattr(self.shares[0], field.name) for field in fields(Batch)}
        return Batch(**{**first, **shares, "plan": self.plan.mapped(share_of), "ids": [], "texts": [], "answers": []})


@dataclass(frozen=True)
class DividingCollator:
    """A ``Collator`` of the batches of a host.

    Args:
        collator: makes the share of a device, of a fixed shape.
        devices: of the host; micro_batch: examples of a share.
    """

    collator: Collator
    devices: int
    micro_batch: int

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> DividedBatch:
        """Give each device the next ``micro_batch`` rows; at the end of a split the last ones may get none."""
        starts = range(0, self.devices * self.micro_batch, self.micro_batch)
        return divided([self._share(rows[start : start + self.micro_batch], rows[0], start) for start in starts])

    def _share(self, rows: Sequence[Mapping[str, Any]], other: Mapping[str, Any], start: int) -> Batch:
        """
        Args:
            other: a row to compute on a device that has none.
            start: documents before this share.
        """
        share = self.collator(rows or [other])
        place = torch.where(share.plan.place < 0, share.plan.place, share.plan.place + (start << 16))
        share = replace(share, plan=replace(share.plan, place=place))
        return share if rows else replace(share, ids=[], num_masked=0, texts=[], answers=[])


def divided(shares: Sequence[Batch]) -> DividedBatch:
    """Join micro-batches of one shape."""
    joined: dict[str, Any] = {name: torch.cat([getattr(s, name) for s in shares]) for name, _ in shares[0].tensors()}
    return DividedBatch(
        **joined,
        ids=[name for share in shares for name in share.ids],
        texts=[text for share in shares for text in share.texts],
        answers=[answers for share in shares for answers in share.answers],
        num_masked=sum(share.num_masked for share in shares),
        plan=_joined_plan([share.plan for share in shares]),
        shares=tuple(shares),
    )


def _joined_plan(plans: Sequence[Plan]) -> Plan:
    """Join plans of one shape: their sizes are equal, so those of the first count."""
    of_all: Iterator[tuple[Tensor, ...]] = zip(*(plan.tensors() for plan in plans), strict=True)
    return plans[0].mapped(lambda _: torch.cat(next(of_all)))
