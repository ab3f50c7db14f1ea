"""Runs that the tests of inference share with those of training."""

from tests.training.conftest import cache, mate, mate_process  # noqa: F401
