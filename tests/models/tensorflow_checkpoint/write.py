"""Write the checkpoint beside this file with TensorFlow, as the TAPAS release wrote its own.

    pip install tensorflow-cpu==2.21.0 && python tests/models/tensorflow_checkpoint/write.py

A BERT with seven type tables, one layer and all heads of the release, four wide; each variable counts up by 1/1024 from
its place in the list.
"""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

WIDTH, INNER, WORDS = 4, 8, 12
TYPES = [3, 5, 6, 2, 5, 5, 10]
CONFIG = {
    "vocab_size": WORDS,
    "hidden_size": WIDTH,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": INNER,
    "hidden_act": "gelu",
    "max_position_embeddings": 16,
    "type_vocab_size": TYPES,
    "initializer_range": 0.02,
}


def variables() -> dict[str, list[int]]:
    """Return the shape of each variable by name, in the order of their values."""
    embeddings = {"word_embeddings": [WORDS, WIDTH], "position_embeddings": [16, WIDTH]}
    embeddings |= {f"token_type_embeddings_{number}": [rows, WIDTH] for number, rows in enumerate(TYPES)}
    shapes = {f"bert/embeddings/{name}": shape for name, shape in embeddings.items()}
    layer, norms = "bert/encoder/layer_0", ["bert/embeddings", "cls/predictions/transform"]
    dense = {f"{layer}/attention/self/{name}": (WIDTH, WIDTH) for name in ("query", "key", "value")}
    dense |= {f"{layer}/attention/output/dense": (WIDTH, WIDTH), f"{layer}/intermediate/dense": (WIDTH, INNER)}
    dense |= {f"{layer}/output/dense": (INNER, WIDTH), "bert/pooler/dense": (WIDTH, WIDTH)}
    dense |= {"cls/predictions/transform/dense": (WIDTH, WIDTH)}
    for name, (inputs, outputs) in dense.items():
        shapes |= {f"{name}/kernel": [inputs, outputs], f"{name}/bias": [outputs]}
    for name in (*norms, f"{layer}/attention/output", f"{layer}/output"):
        shapes |= {f"{name}/LayerNorm/gamma": [WIDTH], f"{name}/LayerNorm/beta": [WIDTH]}
    shapes |= {"output_weights": [WIDTH], "output_bias": [], "column_output_weights": [WIDTH], "column_output_bias": []}
    shapes |= {"output_weights_agg": [4, WIDTH], "output_bias_agg": [4]}
    shapes |= {"output_weights_cls": [2, WIDTH], "output_bias_cls": [2], "cls/predictions/output_bias": [WORDS]}
    shapes |= {"cls/seq_relationship/output_weights": [2, WIDTH], "cls/seq_relationship/output_bias": [2]}
    return shapes | {"output_weights/adam_m": [WIDTH], "output_weights/adam_v": [WIDTH]}


def values() -> dict[str, list[float]]:
    """Return the numbers of each variable by name, row by row."""
    shapes = variables().items()
    return {name: [place + n / 1024 for n in range(prod(shape))] for place, (name, shape) in enumerate(shapes)}


def main() -> None:
    import tensorflow as tf

    v1, folder = tf.compat.v1, Path(__file__).parent
    with tf.Graph().as_default(), v1.Session() as session:
        for (name, shape), numbers in zip(variables().items(), values().values(), strict=True):
            initial = tf.reshape(tf.constant(numbers, tf.float32), shape)
            v1.get_variable(name, initializer=initial, use_resource=False)
        v1.get_variable("global_step", initializer=tf.constant(3, tf.int64), use_resource=False)
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(folder / "model.ckpt"), write_meta_graph=False)
    (folder / "checkpoint").unlink()
    (folder / "bert_config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")


if __name__ == "__main__":
    main()
