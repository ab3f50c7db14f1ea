"""A graph of ``mate export format=onnx`` in the place of a model: ONNX Runtime computes its logits, on the CPU."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mate_cli.attention import Plan
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.models.weights import checked_config
from mate_cli.system.distribution import install_command
from mate_cli.system.errors import UserError
from mate_cli.training.onnx_graph import INPUTS, MAX_TOKENS

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


class OnnxModel(MatePreTrainedModel):
    """Called as the model that the graph was made of, without parameters of its own.

    Attributes:
        max_tokens: most tokens of an input.
    """

    def __init__(self, config: MateConfig, session: InferenceSession, max_tokens: int) -> None:
        super().__init__(config)
        self.session, self.max_tokens = session, max_tokens

    def forward(self, input_ids: Tensor, token_types: Tensor, positions: Tensor, plan: Plan, **_: Any) -> Any:
        """Compute the logits of a packed batch; numbers of cells and of headers are those of the graph's own batch.

        Args:
            input_ids, token_types, positions: as in ``MateModel.encode``.
            plan: for the documents of the tokens alone.

        Returns:
            the logits as from the model, with places for cells that the batch does not have at the end (see
            ``Batch.on_host``).
        """
        place = plan.place.cpu().numpy()
        document, number = place >> 16, place & 0xFFFF
        packed = (input_ids, torch.ones_like(input_ids), token_types, positions)
        inputs = {name: _padded(part, document, number) for name, part in zip(INPUTS, packed, strict=True)}
        names = [output.name for output in self.session.get_outputs()]
        logits = [torch.from_numpy(part) for part in self.session.run(names, inputs)]
        return namedtuple("Logits", names)(*logits) if len(logits) > 1 else logits[0]


def load_onnx(file: Path, model_class: type[MatePreTrainedModel], heads: str, max_tokens: int) -> OnnxModel:
    """Open a graph, to run in as many threads as PyTorch.

    Args:
        model_class, heads: of the model that it was made of, as in ``load_model``.
        max_tokens: most tokens of an input.

    Raises:
        UserError: it is no graph of ``mate export``, or not of such a model, or for shorter inputs; or ONNX Runtime is
            not installed.
    """
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise UserError(f"{file} needs onnxruntime; {install_command('onnx')}") from error
    config, options = checked_config(file.parent, model_class, heads), onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    try:
        session = onnxruntime.InferenceSession(file, options, ["CPUExecutionProvider"])
        longest = int(session.get_modelmeta().custom_metadata_map[MAX_TOKENS])
    except Exception as error:  # the errors of ONNX Runtime have no class of their own in common
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(f"{file} is no graph of mate export ({reason}); export the run again") from error
    if max_tokens > longest:
        raise UserError(
            f"{file} reads at most {longest} tokens, and max_tokens={max_tokens}; "
            f"export the run again with max_tokens={max_tokens}"
        )
    return OnnxModel(config, session, longest)


def _padded(values: Tensor, document: NDArray[np.int32], number: NDArray[np.int32]) -> NDArray[np.int64]:
    """Put values ``[tokens, ...]`` at their places, ``[documents, most tokens, ...]``; 0 elsewhere."""
    padded = np.zeros((document.max() + 1, number.max() + 1, *values.shape[1:]), dtype=np.int64)
    padded[document, number] = values.cpu().numpy()
    return padded
