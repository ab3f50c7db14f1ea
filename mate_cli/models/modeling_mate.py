"""Lets transformers load this folder: AutoModel.from_pretrained(FOLDER, trust_remote_code=True)."""

try:
    from mate_cli.models import (  # noqa: F401
        MateConfig,
        MateForMaskedLM,
        MateForSequenceClassification,
        MateForTableQuestionAnswering,
        MateModel,
    )
except ModuleNotFoundError as error:
    raise ImportError("this model needs the package mate-tables: pip install '.[minilm]' in a clone of mate") from error
