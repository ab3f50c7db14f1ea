"""The kinds of task, one module each: model, objective, evaluation, report, and what else tells kinds apart."""
