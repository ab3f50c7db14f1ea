"""Labelled statements generated from any table, the data of the intermediate pre-training CS (docs/notes.md, 21, 22).

- synthetic: a comparison of two expressions over a table, with the truth value that its execution gives
- counterfactual: a sentence about a table, and the same with a value replaced by another of its column
"""
