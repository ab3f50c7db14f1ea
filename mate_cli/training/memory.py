"""The memory that a training step takes on one device, counted before anything is computed.

The model itself runs, forward and backward, on fake tensors: they have a shape and no values, so a model of any size is
counted on any machine in seconds, with the attention that it will use. Every tensor counts while it lives.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map_only

from mate_cli.attention import FixedShape
from mate_cli.attention.counting import counting_for
from mate_cli.attention.generated import QUESTION_TOKENS, table_layout
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.batch import Batch
from mate_cli.encoding.features import ARRAYS, EncodingOptions
from mate_cli.kinds.registry import kind_of, task_of
from mate_cli.models.configuration import MateConfig
from mate_cli.training.backend import collator_for, most_masked
from mate_cli.training.devices import Devices
from mate_cli.training.optimizer import BertAdamW

# Counts are of that many layers at most, and of examples with about so many tokens together.
_LAYERS, _TOKENS = 3, 512
_MOST = 2**20


@dataclass(frozen=True)
class Memory:
    """Bytes on one device at the peak of an optimizer step.

    Attributes:
        parameters, gradients, optimizer: weights, their gradients, and Adam's averages.
        sums: copies of the gradients in which those of several devices are added up.
        batch: a micro-batch with the plan of its attention.
        layers, embeddings: everything else at the peak, until the backward pass reaches the embeddings, and there:
            tensors kept for the backward pass, and those of the operation at the peak.
    """

    parameters: int
    gradients: int
    optimizer: int
    sums: int
    batch: int
    layers: int
    embeddings: int

    @property
    def activations(self) -> int:
        return max(self.layers, self.embeddings)

    @property
    def total(self) -> int:
        return self.parameters + self.gradients + self.optimizer + self.sums + self.batch + self.activations

    def towards(self, other: Memory, steps: float) -> Memory:
        """Go so many times the way from this one to another."""
        sizes = zip(vars(self).items(), vars(other).values(), strict=True)
        return Memory(**{name: round(size + steps * (there - size)) for (name, size), there in sizes})


@dataclass(frozen=True)
class LargestInputs:
    """The inputs of a training, as far as memory depends on them.

    Attributes:
        tokens: of an example.
        shape: the one shape of all batches, on devices that need it; its number of documents does not count.
    """

    tokens: int
    shape: FixedShape | None = None


@dataclass(frozen=True)
class Way:
    """A way to compute a step: the attention backend, whether layers are computed again, examples of a pass."""

    backend: str
    recompute: bool
    micro_batch: int


def count_memory(config: TrainConfig, model: MateConfig, devices: Devices, inputs: LargestInputs, way: Way) -> Memory:
    """Count the memory of a training step on one device.

    Args:
        config: gives the task and the sizes of ``bucketed``; model: the size and the attention, with its dropout.
    """
    batch = largest_batch_of(config, model, devices, inputs, way)
    live = LiveTensors()
    with live, counting_for(devices.device_type):
        network = kind_of(config.task).model(model).train()
        network.get_submodule("tapas.encoder").recompute = way.recompute
        if devices.device_type == "cuda" and devices.low_precision:
            _norm_in_fp32(network)
        weights = [parameter for parameter in network.parameters() if parameter.requires_grad]
        optimizer = BertAdamW([{"params": weights}], lr=1e-5)
        # Lightning frees the gradients of the last step after the forward pass of the next one.
        for parameter in weights:
            parameter.grad = torch.zeros_like(parameter)
        batch = _fake(batch, live)
        for tensor in _tensors(batch):
            live.add(tensor)
        before, peak_of_layers = live.now, 0

        def enter_embeddings(_gradient: Tensor) -> None:
            nonlocal peak_of_layers
            peak_of_layers = live.restart()

        network.get_submodule("tapas.embeddings").register_forward_hook(
            lambda _module, _inputs, states: states.register_hook(enter_embeddings) and None
        )
        live.restart()
        _compute(config, network, batch, devices.low_precision)
    parameters = _bytes(network.parameters())
    gradients = _bytes(weights)
    moments = _bytes(tensor for state in optimizer.state.values() for tensor in state.values())
    shards = devices.world_size if devices.strategy == "fsdp" else 1
    gathered = _gathered(network) if shards > 1 else 0
    return Memory(
        parameters=parameters // shards + gathered,
        gradients=gradients // shards + gathered,
        optimizer=moments // shards,
        sums=gradients if devices.world_size > 1 and shards == 1 else 0,
        batch=_bytes(_tensors(batch)),
        layers=peak_of_layers - before,
        embeddings=live.peak - before,
    )


@dataclass(frozen=True)
class MemoryLine:
    """The memory of a step by the examples of a micro-batch: each part is a line through two counts.

    Attributes:
        examples: those of ``one``; ``other`` has twice as many.
    """

    examples: int
    one: Memory
    other: Memory

    def at(self, micro_batch: int) -> Memory:
        return self.one.towards(self.other, micro_batch / self.examples - 1)

    def largest(self, limit: float) -> int:
        """Return the most examples whose step takes at most ``limit`` bytes; 0 if one takes more."""
        fitting, too_large = 0, 1
        while self.at(too_large).total <= limit and too_large < _MOST:
            fitting, too_large = too_large, 2 * too_large
        while too_large - fitting > 1:
            middle = (fitting + too_large) // 2
            fitting, too_large = (middle, too_large) if self.at(middle).total <= limit else (fitting, middle)
        return fitting


def memory_line(
    config: TrainConfig, model: MateConfig, devices: Devices, inputs: LargestInputs, backend: str, recompute: bool
) -> MemoryLine:
    """Count the memory of a training step for any micro-batch; see ``count_memory``.

    All layers are alike, and so are all examples: two and three layers are counted for some examples and for twice as
    many.
    """
    examples, layers = max(1, _TOKENS // inputs.tokens), model.num_hidden_layers

    def counted(micro_batch: int) -> Memory:
        way = Way(backend, recompute, micro_batch)
        if layers <= _LAYERS:
            return count_memory(config, model, devices, inputs, way)
        few, more = (_with_layers(model, number) for number in (_LAYERS - 1, _LAYERS))
        fewer = count_memory(config, few, devices, inputs, way)
        return fewer.towards(count_memory(config, more, devices, inputs, way), layers - _LAYERS + 1)

    return MemoryLine(examples, counted(examples), counted(2 * examples))


def _with_layers(model: MateConfig, layers: int) -> MateConfig:
    changed = copy(model)
    changed.num_hidden_layers = layers
    return changed


class LiveTensors(FakeTensorMode):
    """Make fake tensors and count their bytes while they live: now, and at the peak."""

    def __init__(self) -> None:
        super().__init__(allow_non_fake_inputs=True)
        self.now = self.peak = 0
        self._known: set[int] = set()
        self._depth = 0

    def restart(self) -> int:
        """Let the peak begin at what lives now; return the one until now."""
        until_now, self.peak = self.peak, self.now
        return until_now

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._depth += 1
        try:
            result = super().__torch_dispatch__(function, types, args, kwargs)
        finally:
            self._depth -= 1
        if not self._depth:  # fake operations consist of others, whose tensors the real ones do not make
            tree_map_only(Tensor, self.add, result)
        return result

    def add(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        place, size = storage._cdata, storage.nbytes()
        if place not in self._known:
            self._known.add(place)
            self.now += size
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._drop, place, size)

    def _drop(self, place: int, size: int) -> None:
        self._known.discard(place)
        self.now -= size


def _compute(config: TrainConfig, network: nn.Module, batch: Batch, low_precision: bool) -> None:
    task = task_of(config)
    with torch.autocast("cpu", dtype=torch.bfloat16) if low_precision else nullcontext():
        losses = task.losses(task.logits(network, batch), batch)  # type: ignore[arg-type]
        loss = losses.sum()
    loss.backward()


def _norm_in_fp32(network: nn.Module) -> None:
    """Let layer norms compute in fp32, as under CUDA's autocast; the CPU's leaves them in bf16."""
    for module in network.modules():
        if isinstance(module, nn.LayerNorm):
            module.register_forward_pre_hook(lambda _module, inputs: (inputs[0].float(),))


def _gathered(network: nn.Module) -> int:
    """Return the bytes of weights that a device holds whole under FSDP: those of one layer and those in none."""
    layers = network.get_submodule("tapas.encoder.layer")
    of_layers = [_bytes(layer.parameters()) for layer in layers.children()]
    return _bytes(network.parameters()) - sum(of_layers) + max(of_layers)


def largest_batch_of(
    config: TrainConfig, model: MateConfig, devices: Devices, inputs: LargestInputs, way: Way
) -> Batch:
    """Make a batch of the largest examples; of a fixed shape, with one token of a table, for its sizes are given."""
    shape = inputs.shape and replace(inputs.shape, documents=way.micro_batch)
    masked = most_masked(config.task, inputs.tokens)
    device, low_precision = devices.device_type, devices.low_precision
    collator = collator_for(model, config.model, way.backend, device, low_precision, (shape,) if shape else (), masked)
    question = min(QUESTION_TOKENS, inputs.tokens - 1)
    row = _row(config, inputs.tokens if shape is None else question + 1, question, masked)
    return collator([row] * way.micro_batch)


def _row(config: TrainConfig, tokens: int, question: int, masked: int) -> dict[str, Any]:
    """Make a row of the cache for a table of six columns, with as many tokens of each kind as there may be."""
    layout = table_layout("grid", tokens, question)
    lines = {"segment": layout.segment, "row": layout.row, "column": layout.column}
    body = np.unique(np.stack([layout.row, layout.column])[:, (layout.segment == 1) & (layout.row > 0)], axis=1)
    cells = body.shape[1]
    row: dict[str, Any] = {name: np.zeros(tokens, np.int64) for name in ARRAYS} | lines
    row |= {"id": "", "label": -1, "operator": -1}
    row |= {"answer_value": np.nan, "cell_value": np.full(cells, np.nan, np.float32)}
    if task_of(config).encoding(EncodingOptions()).spans:
        row |= {"span_first": -1, "span_last": -1, "texts": [""] * cells, "answers": [""]}
        row |= {"char_start": row["position"], "char_end": row["position"]}
    if masked:
        row |= {"masked": np.arange(masked) % tokens, "target": np.zeros(masked, np.int64)}
    return row


def _fake(batch: Batch, mode: FakeTensorMode) -> Batch:
    fakes: dict[str, Any] = {name: mode.from_tensor(value) for name, value in batch.tensors()}
    return replace(batch, plan=batch.plan.mapped(mode.from_tensor), **fakes)


def _tensors(batch: Batch) -> list[Tensor]:
    """Return the tensors of a batch and its plan."""
    return [*(value for _, value in batch.tensors()), *batch.plan.tensors()]


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors)
