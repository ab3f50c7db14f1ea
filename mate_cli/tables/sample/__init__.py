"""Write the ``sample`` task: a miniature HybridQA about invented things, in the official layout.

A question names a row, or describes it by a fact that only a passage states, and paraphrases a column. Each question
has a kind of reasoning:

- lookup: the text of a cell gives the row, another cell is the answer;
- passage: the answer is in the passage of a cell that the question names, directly or by its row's key;
- two_hop: a passage gives the row and the answer is elsewhere, or a cell gives the row and another cell's passage has
  the answer;
- ambiguous: any of these if several cells contain the answer;
- missing: neither the table nor its passages have the answer.
"""

from mate_cli.tables.sample.write import write_sample

__all__ = ["write_sample"]
