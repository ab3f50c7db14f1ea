"""Weights, gradients and optimizer state sharded over the devices (FSDP2), with ordinary checkpoints.

A device holds its share of each tensor and gathers the rest of a layer while it computes that layer. Lightning's own
strategy orders the optimizer state of a checkpoint by the model; here it keeps the optimizer's order, as without
sharding, so that a run can resume with or without sharding, on any number of devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from lightning_utilities.core.apply_func import apply_to_collection
from pytorch_lightning.strategies import ModelParallelStrategy, Strategy
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DeviceMesh, DTensor, distribute_tensor
from torch.optim import Optimizer


class ShardedStrategy(ModelParallelStrategy):
    """Data parallelism over ``devices``; the module is sharded in ``configure_model``, by ``shard``."""

    def __init__(self, devices: int) -> None:
        super().__init__(data_parallel_size=devices, tensor_parallel_size=1, save_distributed_checkpoint=False)

    @property
    def lightning_restore_optimizer(self) -> bool:
        return True

    def optimizer_state(self, optimizer: Optimizer) -> dict[str, Any]:
        """The complete state, on the first rank; all ranks must call this."""
        state: dict[str, Any] = apply_to_collection(Strategy.optimizer_state(self, optimizer), Tensor, self._whole)
        return state

    def load_checkpoint(self, checkpoint_path: str | Path, weights_only: bool | None = None) -> dict[str, Any]:
        return Strategy.load_checkpoint(self, checkpoint_path, weights_only)

    def load_model_state_dict(self, checkpoint: Mapping[str, Any], strict: bool = True) -> None:
        assert self.lightning_module is not None
        state = self.lightning_module.state_dict()
        stored = checkpoint["state_dict"]
        shares = {name: _share(tensor, state[name]) for name, tensor in stored.items() if name in state}
        self.lightning_module.load_state_dict(shares, strict=strict)

    def load_optimizer_state_dict(self, checkpoint: Mapping[str, Any]) -> None:
        for optimizer, whole in zip(self.optimizers, checkpoint["optimizer_states"], strict=True):
            parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            shares = {
                number: {name: _share(tensor, parameters[number]) for name, tensor in state.items()}
                for number, state in whole["state"].items()
            }
            optimizer.load_state_dict({**whole, "state": shares})

    def post_backward(self, closure_loss: Tensor) -> None:
        """Average the gradients of scalar parameters, which cannot be sharded, over all ranks."""
        assert self.lightning_module is not None
        scalars = [parameter for parameter in self.lightning_module.parameters() if parameter.ndim == 0]
        if not scalars:
            return
        grads = [[0.0, 0.0] if scalar.grad is None else [float(scalar.grad), 1.0] for scalar in scalars]
        means = self.reduce(torch.tensor(grads, device=self.root_device), reduce_op="mean")
        for scalar, (grad, used) in zip(scalars, means.unbind(), strict=True):
            scalar.grad = grad.to(scalar.dtype) if used else None

    def _whole(self, tensor: Tensor) -> Tensor | None:
        if isinstance(tensor, DTensor):
            tensor = tensor.full_tensor()
        return tensor.cpu() if self.is_global_zero else None


def shard(model: nn.Module, layers: nn.ModuleList, mesh: DeviceMesh) -> None:
    """Shard a model over the devices of the mesh: each layer by itself, then the rest."""
    if isinstance(model, FSDPModule):
        return
    for layer in layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh, ignored_params={scalar for scalar in model.parameters() if scalar.ndim == 0})


def _share(whole: Tensor, like: Tensor) -> Tensor:
    """This device's share of a tensor that every rank has read; scalars are not sharded."""
    if not isinstance(like, DTensor) or whole.shape != like.shape:
        return whole
    there = whole.to(like.device_mesh.device_type)
    return distribute_tensor(there, like.device_mesh, like.placements, src_data_rank=None)
