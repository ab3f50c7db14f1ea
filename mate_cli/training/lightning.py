"""Lightning's messages that concern none of our users."""

from __future__ import annotations

import logging
import warnings


def quieten_lightning() -> None:
    """Leave out what Lightning says of itself; keep its errors."""
    for name in ("pytorch_lightning", "pytorch_lightning.utilities.rank_zero", "lightning_fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    # The sampler starts at the step of the checkpoint by itself; workers are chosen by the profile.
    warnings.filterwarnings("ignore", message=".*dataloader is not resumable.*")
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    warnings.filterwarnings("ignore", message=".*You have overridden `on_before_batch_transfer`.*")
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")
    warnings.filterwarnings("ignore", message=".*predict returned None.*")
    warnings.filterwarnings("ignore", message=".*Experiment logs directory.*")
    warnings.filterwarnings("ignore", message=".*Checkpoint directory.*")
    # Logits may be a view: nothing writes into them.
    warnings.filterwarnings("ignore", message=".*FSDP2-wrapped module.*returned a view.*")
