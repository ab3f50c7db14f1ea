"""Data parallelism by one program over all XLA devices (SPMD), instead of a replica for each device.

A process of each host gives the program the batch of its devices, divided along the first dimension. From there on
each device computes with its share alone, as a replica does ("manual" sharding): examples are packed, and the compiler
cannot know that an index leads to a token of the same share; it would collect the batch of all devices for each
look-up. The losses and the gradients of the weights are declared as shares of a whole again, and the compiler makes
their sums.

torch-xla needs an environment of its own (docs/tpu.md), so it is imported only when used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from pytorch_lightning.strategies import SingleDeviceXLAStrategy
from pytorch_lightning.utilities.rank_zero import rank_zero_only
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from mate_cli.training.divided import DividedBatch
from mate_cli.training.mesh import first_dimension, joined, mesh, share_of
from mate_cli.training.xla import check_runtime

if TYPE_CHECKING:
    from mate_cli.encoding.batch import Batch
    from mate_cli.models.model import MatePreTrainedModel
    from mate_cli.tasks.task import Prediction, Task


class _Joined(torch.autograd.Function):
    """``joined`` with a gradient, of which each device gets its share."""

    @staticmethod
    def forward(context: Any, share: Tensor) -> Tensor:
        return joined(share)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        import torch_xla

        (gradient,) = gradients
        gradient = gradient.contiguous()
        sharding = mesh().get_op_sharding(first_dimension(gradient))
        torch_xla._XLAC._xla_annotate_custom_sharding(gradient, sharding)
        return share_of(gradient)


def joined_losses(losses: Tensor) -> Tensor:
    """Return the losses of all devices, those of other hosts included; their gradient goes back to each device."""
    whole: Tensor = _Joined.apply(losses)
    return whole


def predict_shares(
    task: Task, model: MatePreTrainedModel, batch: DividedBatch
) -> Iterator[tuple[list[Prediction], Batch]]:
    """Yield the predictions for the examples of each device of this host, with its micro-batch."""
    import torch_xla

    of_all, structure = _joined_logits(task, model, batch)
    torch_xla.sync(wait=True)
    by_device = zip(*torch_xla._XLAC._get_local_shards(of_all), strict=True)
    for share, shards in zip(batch.shares, by_device, strict=True):
        if share.ids:
            own = tree_unflatten([shard.squeeze(0) for shard, _ in shards], structure)
            on_host = share.on_host()
            yield list(task.predictions(own, on_host)), on_host


def _joined_logits(task: Task, model: MatePreTrainedModel, batch: DividedBatch) -> tuple[list[Tensor], Any]:
    """Return the scores of all devices, ``[devices, ...]`` each, and the structure that they have."""
    leaves, structure = tree_flatten(task.logits(model, batch.share()))
    return [joined(leaf.unsqueeze(0)) for leaf in leaves], structure


class OneProgram(SingleDeviceXLAStrategy):
    """Lightning's strategy for one XLA device, which stands for all of them; a rank is the process of a host.

    Args:
        expected: number of devices, of all hosts, that the batch was divided among.
    """

    def __init__(self, expected: int) -> None:
        import torch_xla.runtime as xr

        super().__init__(torch.device("xla"))
        self.expected = expected
        self.world_size, self.global_rank = xr.process_count(), xr.process_index()
        self._hooks: list[Any] = []

    @property
    def is_global_zero(self) -> bool:
        return self.global_rank == 0

    def setup_environment(self) -> None:
        import torch_xla.runtime as xr

        super().setup_environment()
        check_runtime(xr.global_runtime_device_count(), self.expected)
        rank_zero_only.rank = self.global_rank  # type: ignore[attr-defined]
        if self.world_size > 1 and not torch.distributed.is_initialized():
            import torch_xla.distributed.xla_backend  # noqa: F401  (knows the address)

            torch.distributed.init_process_group("gloo", init_method="xla://")

    def on_train_start(self) -> None:
        """Let gradients be summed, and declare weights and optimizer state as whole on every device.

        A step leaves them so: otherwise the second one would be another program.
        """
        from torch_xla.distributed.spmd import mark_sharding

        assert self.model is not None
        weights = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self._hooks = [parameter.register_hook(_summed) for parameter in weights]
        states = [state.values() for optimizer in self.optimizers for state in optimizer.state.values()]
        for tensor in (*self.model.parameters(), *(value for values in states for value in values)):
            if isinstance(tensor, Tensor) and tensor.device.type == "xla":
                mark_sharding(tensor, mesh(), (None,) * tensor.dim())

    def teardown(self) -> None:
        for hook in self._hooks:
            hook.remove()
        super().teardown()

    def reduce(self, tensor: Any, group: Any = None, reduce_op: Any = "mean") -> Any:
        """The sum or the mean of a number over the hosts."""
        if self.world_size == 1:
            return tensor
        total = torch.as_tensor(tensor).detach().cpu().clone()
        torch.distributed.all_reduce(total)
        return total / self.world_size if reduce_op in ("mean", "avg") else total

    def reduce_boolean_decision(self, decision: bool, all: bool = True) -> bool:
        agreeing = int(self.reduce(int(decision), reduce_op="sum"))
        return agreeing == self.world_size if all else agreeing > 0

    def barrier(self, *_: Any, **__: Any) -> None:
        if self.world_size > 1:
            torch.distributed.barrier()

    def broadcast(self, obj: Any, src: int = 0) -> Any:
        objects = [obj]
        if self.world_size > 1:
            torch.distributed.broadcast_object_list(objects, src)
        return objects[0]


def _summed(gradient: Tensor) -> Tensor:
    """Sum the gradient of a weight, which each device computed from its share."""
    return joined(gradient.unsqueeze(0)).sum(0)
