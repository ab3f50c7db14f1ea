"""One file per kind of task, each with its loss and its prediction."""
