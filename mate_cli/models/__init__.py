"""Configuration, embeddings, encoder and heads, with Hugging Face's names; weights in and out.

Importing this package registers the model type ``mate`` with the Auto classes of ``transformers``, so that they load
folders of ``mate export``. Their ``modeling_mate.py`` imports this package, for programs that do not.
"""

from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTableQuestionAnswering,
)

from mate_cli.models.configuration import MateConfig
from mate_cli.models.entailment import MateForSequenceClassification
from mate_cli.models.masked_language import MateForMaskedLM
from mate_cli.models.model import MateModel
from mate_cli.models.table_qa import MateForTableQuestionAnswering

AUTO_CLASSES = {
    AutoModel: MateModel,
    AutoModelForMaskedLM: MateForMaskedLM,
    AutoModelForSequenceClassification: MateForSequenceClassification,
    AutoModelForTableQuestionAnswering: MateForTableQuestionAnswering,
}

AutoConfig.register(MateConfig.model_type, MateConfig)
for _auto, _class in AUTO_CLASSES.items():
    _auto.register(MateConfig, _class)
