"""Weights, gradients and optimizer state shared out over the devices (FSDP2), with checkpoints like everyone's.

A device holds its share of each tensor. It borrows the rest of a layer while it computes that layer. Lightning's own
strategy orders the optimizer's state in a checkpoint by the model; here it stays in the optimizer's order, as in a run
without sharding, so that a run can go on with or without it, on any number of devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.strategies import ModelParallelStrategy, Strategy
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DeviceMesh, DTensor, distribute_tensor
from torch.optim import Optimizer


class ShardedStrategy(ModelParallelStrategy):
    """Data parallel over ``devices``; the module shares itself out in ``configure_model``, by ``share_out``."""

    def __init__(self, devices: int) -> None:
        super().__init__(data_parallel_size=devices, tensor_parallel_size=1, save_distributed_checkpoint=False)

    @property
    def lightning_restore_optimizer(self) -> bool:
        return True

    def optimizer_state(self, optimizer: Optimizer) -> dict[str, Any]:
        """The whole state on the first rank; every rank must ask for it."""
        state: dict[str, Any] = _map_tensors(Strategy.optimizer_state(self, optimizer), self._whole)
        return state

    def load_checkpoint(self, checkpoint_path: str | Path, weights_only: bool | None = None) -> dict[str, Any]:
        return Strategy.load_checkpoint(self, checkpoint_path, weights_only)

    def load_model_state_dict(self, checkpoint: Mapping[str, Any], strict: bool = True) -> None:
        assert self.lightning_module is not None
        own = self.lightning_module.state_dict()
        shares = {name: _share(tensor, own[name]) for name, tensor in checkpoint["state_dict"].items() if name in own}
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
        """Average the gradients of the scalars, which cannot be shared out, over the ranks that used them or not."""
        assert self.lightning_module is not None
        scalars = [own for own in self.lightning_module.parameters() if own.ndim == 0]
        if not scalars:
            return
        own = [(own.new_zeros(()) if own.grad is None else own.grad, own.grad is not None) for own in scalars]
        facts = torch.tensor([[float(grad), float(used)] for grad, used in own], device=self.root_device)
        for scalar, (grad, used) in zip(scalars, self.reduce(facts, reduce_op="mean").unbind(), strict=True):
            scalar.grad = grad.to(scalar.dtype) if used else None

    def _whole(self, tensor: Tensor) -> Tensor | None:
        if isinstance(tensor, DTensor):
            tensor = tensor.full_tensor()
        return tensor.cpu() if self.is_global_zero else None


def share_out(model: nn.Module, layers: nn.ModuleList, mesh: DeviceMesh) -> None:
    """Give each device of the mesh its share of the model: layer by layer, and what is outside them as one."""
    if isinstance(model, FSDPModule):
        return
    for layer in layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh, ignored_params={own for own in model.parameters() if own.ndim == 0})


def _share(whole: Tensor, like: Tensor) -> Tensor:
    """This device's part of a tensor that every rank has read; scalars are everyone's."""
    if not isinstance(like, DTensor) or whole.shape != like.shape:
        return whole
    there = whole.to(like.device_mesh.device_type)
    return distribute_tensor(there, like.device_mesh, like.placements, src_data_rank=None)


def _map_tensors(value: Any, change: Any) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: _map_tensors(own, change) for name, own in value.items()}
    return [_map_tensors(own, change) for own in value] if isinstance(value, list) else value
