"""Tensors divided among all XLA devices by one program over them (``mate_cli.training.spmd``).

torch-xla needs an environment of its own (docs/tpu.md), so it is imported only when used.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from torch import Tensor


@cache
def mesh() -> Any:
    """The devices of all hosts, in one dimension."""
    import torch_xla.runtime as xr
    from torch_xla.distributed.spmd import Mesh

    devices = xr.global_runtime_device_count()
    return Mesh(np.arange(devices), (devices,), ("data",))


def first_dimension(tensor: Tensor) -> tuple[str | None, ...]:
    """Name the dimension that is divided."""
    return ("data", *[None] * (tensor.dim() - 1))


def to_devices(tensor: Tensor) -> Tensor:
    """Divide a tensor in main memory among the devices of this host, along the first dimension."""
    import torch_xla
    import torch_xla.core.xla_model as xm
    from torch_xla.distributed.spmd import ShardingSpec

    # A minibatch is the part of the batch that one host has.
    sharding = ShardingSpec(mesh(), first_dimension(tensor), minibatch=True)
    divided: list[Tensor] = xm.send_cpu_data_to_device([tensor], torch_xla.device(), sharding)
    return divided[0]


def share_of(divided: Tensor) -> Tensor:
    """Take each device's share of a tensor; what is computed from it stays on its device, until ``joined``."""
    import torch_xla

    share: Tensor = torch_xla._XLAC._spmd_full_to_shard_shape(divided)
    return share


def joined(share: Tensor) -> Tensor:
    """Make one tensor of the shares of all devices, those of other hosts included, along the first dimension."""
    import torch_xla
    from torch_xla.distributed.spmd import ShardingType

    native = torch_xla._XLAC
    native._mark_manual_sharding(share, native.OpSharding([], [], [], ShardingType.MANUAL))
    sharding = mesh().get_op_sharding(first_dimension(share))
    shape = (mesh().size() * share.shape[0], *share.shape[1:])
    whole: Tensor = native._spmd_shard_to_full_shape(share, sharding, shape, share.dtype)
    return whole
