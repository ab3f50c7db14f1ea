"""BigBird's attention (Zaheer et al. 2020; checklist 52): global tokens, neighbouring blocks, random blocks.

For ``mate bench`` only.
"""

from __future__ import annotations

from torch import Tensor, nn

from mate_cli.attention.global_local import GlobalLocalPlan, attend_global_local
from mate_cli.models.configuration import MateConfig

# Blocks drawn for each block, as in the models that BigBird's authors trained.
RANDOM_BLOCKS = 3


class BigBirdAttention(nn.Module):
    """A block of R tokens sees the global tokens, itself, its neighbours and some random blocks, all of them whole.

    Positions come from the embeddings, as in BigBird's internal form, so there are no parameters but BERT's.
    """

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.heads = config.num_attention_heads
        self.dropout = config.attention_probs_dropout_prob

    def forward(self, states_TH: Tensor, plan: GlobalLocalPlan) -> Tensor:
        """``[tokens, hidden]`` to the same."""
        layers = (self.query, self.key, self.value)
        query, key, value = (layer(states_TH).unflatten(1, (self.heads, -1)) for layer in layers)
        dropout = self.dropout if self.training else 0.0
        return attend_global_local(query, key, value, plan, dropout=dropout).flatten(1)
