"""Writes the ``sample`` task: a miniature HybridQA about invented things, in the official layout.

The questions need a row named in the question or described by a fact that only a passage tells, and a column
that the question paraphrases. Every question bears its kind of reasoning:

- lookup: the row by the text of one cell, the answer the text of another;
- passage: the answer stands in the passage of a cell that the question names or points at by its row's key;
- two_hop: the row by a fact in one cell's passage and the answer elsewhere, or the row by a cell's text and
  the answer in another cell's passage;
- ambiguous: any of these where several cells hold the answer's words;
- missing: nothing in the table or its passages answers it.
"""

from mate_cli.tables.sample.write import write_sample

__all__ = ["write_sample"]
