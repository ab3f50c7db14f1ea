"""Statements that are made from any table, with labels: the data of CS, the intermediate pre-training (spec 5.3).

- synthetic: two expressions over a table compared; what is true is what the executor finds
- counterfactual: a sentence that speaks of a table, and the same with a value replaced by another of its column
"""
