"""Train on four devices of torch-xla's processor, one program over all of them (SPMD), each with its documents.

Argument: cache. Prints JSON: the losses of its steps here and on the CPU, compilations, fallbacks, and how many
devices hold a share of the tokens. Lightning has no such strategy, so this is the model alone with a plain loop.
"""

from __future__ import annotations

import copy
import json
import sys

import numpy as np
import torch
import torch_xla
import torch_xla.debug.metrics as metrics
import torch_xla.runtime as xr
from torch_xla.distributed import spmd

from mate_cli.attention import widest_shape
from mate_cli.config.paths import PathsConfig
from mate_cli.encoding.batch import Batch
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.kinds.registry import task_of
from mate_cli.tables.data_folder import data_folder
from mate_cli.tables.hybridqa import read_split
from mate_cli.tasks.cell_selection import CellSelection
from mate_cli.training.backend import collator_for
from mate_cli.training.module import TaskModule
from mate_cli.training.splits import encoding_options
from mate_cli.training.starting_model import starting_model
from tests.training.test_every_model import SILENT, composed

DEVICES, STEPS = 4, 4
SHARED = ("input_ids", "positions", "token_types", "cell")


def losses(module: TaskModule, batch: Batch) -> list[float]:
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = module.task.losses(module(batch), batch).mean()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        found.append(loss.detach())
    return [float(own) for own in found]


def main(cache: str) -> None:
    xr.use_spmd()
    mesh = spmd.Mesh(np.arange(DEVICES), (DEVICES,), ("data",))
    config = composed("backbone=tiny", "schedule=smoke")
    model, vocabulary, _ = starting_model(config, task_of(config), SILENT)
    folder = data_folder(config.task, None, PathsConfig(cache=cache))
    examples = [own for own in read_split(folder, "train").examples if len(own.candidates) == 1][:DEVICES]
    options = encoding_options(config, task_of(config), model.config)
    encoded = encode(examples, CellTokenizer(vocabulary), options)
    rows = [row_of(example, own) for example, own in zip(examples, encoded, strict=True)]
    batch = collator_for(model.config, config.model, "auto", "xla", shapes=[widest_shape(DEVICES, options.max_tokens)])(
        rows
    )
    device = torch.device("xla")
    there, shared = TaskModule(copy.deepcopy(model), CellSelection()).to(device), batch.to(device)
    for name in SHARED:
        own = getattr(shared, name)
        spmd.mark_sharding(own, mesh, ("data", *[None] * (own.dim() - 1)))
    metrics.clear_all()
    on_xla = losses(there, shared)
    operations = [name for name in metrics.counter_names() if name.startswith("aten::")]
    report = {
        "xla": on_xla,
        "compilations": metrics.metric_data("CompileTime")[0],
        "fallbacks": [name for name in operations if name != "aten::_local_scalar_dense"],
        "sharding": torch_xla._XLAC._get_xla_sharding_spec(shared.input_ids),
        "cpu": losses(TaskModule(model, CellSelection()), batch),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
