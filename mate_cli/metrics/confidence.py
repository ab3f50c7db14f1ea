"""From what a model says about its answer to the probability that the answer is right.

A map is fitted on answers that are known to be right or wrong: ``Temperature`` (Guo et al., 2017), ``Isotonic``
(Zadrozny and Elkan, 2002), or ``Logistic``, which is Platt's scaling (1999) with a temperature for the cells and one
for the operator.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

_LEAST = 1e-6  # logits are those of probabilities between this and 1 - this
_BOUND = 0.01  # no finite number of answers shows that all or none are right

Floats = NDArray[np.float64]


class Confidence(NamedTuple):
    """What a model says about one answer.

    Attributes:
        cell: probability of the least likely chosen cell, 0 if none is chosen, or of the verdict on a statement;
            cells: how many are chosen, 1 for a verdict.
        operator: name of the operator, or of the verdict; operator_probability: 1 for a model without operators.
    """

    cell: float
    cells: int
    operator: str
    operator_probability: float

    @property
    def probability(self) -> float:
        """The probability without calibration: of the least likely part of the answer."""
        return min(self.cell, self.operator_probability)


class Map(ABC):
    """A fitted map from confidences to probabilities; its fields are plain data."""

    method: ClassVar[str]

    @classmethod
    @abstractmethod
    def fit(cls, confidences: Sequence[Confidence], right: NDArray[np.bool_]) -> Self:
        """Fit to answers, some right and some wrong."""

    @abstractmethod
    def probabilities(self, confidences: Sequence[Confidence]) -> Floats:
        """Return the probability that each answer is right, ``[answers]``."""

    def plain(self) -> dict[str, Any]:
        return {"method": self.method, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class Temperature(Map):
    """sigmoid(logit(p) / temperature) of the probability without calibration."""

    temperature: float
    method = "temperature"

    @classmethod
    def fit(cls, confidences: Sequence[Confidence], right: NDArray[np.bool_]) -> Self:
        from sklearn.linear_model import LogisticRegression

        # A regression without a constant; the slope is 1 / temperature. A slope of 0 or less says nothing of the sort.
        model = LogisticRegression(C=math.inf, fit_intercept=False)
        slope = float(model.fit(_logits(_plain(confidences))[:, None], right).coef_[0, 0])
        return cls(1 / max(slope, _LEAST))

    def probabilities(self, confidences: Sequence[Confidence]) -> Floats:
        return _sigmoid(_logits(_plain(confidences)) / self.temperature)


@dataclass(frozen=True)
class Isotonic(Map):
    """A rising line through ``probability`` at ``confidence``, both ``[knots]``, of the probability without it."""

    confidence: tuple[float, ...]
    probability: tuple[float, ...]
    method = "isotonic"

    @classmethod
    def fit(cls, confidences: Sequence[Confidence], right: NDArray[np.bool_]) -> Self:
        from sklearn.isotonic import IsotonicRegression

        model = IsotonicRegression(y_min=_BOUND, y_max=1 - _BOUND, out_of_bounds="clip").fit(_plain(confidences), right)
        return cls(tuple(map(float, model.X_thresholds_)), tuple(map(float, model.y_thresholds_)))

    def probabilities(self, confidences: Sequence[Confidence]) -> Floats:
        return np.interp(_plain(confidences), self.confidence, self.probability)


@dataclass(frozen=True)
class Logistic(Map):
    """sigmoid of weighted logits of cell and operator, of the logarithm of the number of cells, and of the operator.

    Attributes:
        operators: name of each operator of the fit -> its constant; others get the least of these.
    """

    cell: float
    operator: float
    cells: float
    operators: Mapping[str, float]
    method = "logistic"

    @classmethod
    def fit(cls, confidences: Sequence[Confidence], right: NDArray[np.bool_]) -> Self:
        from sklearn.linear_model import LogisticRegression

        names = sorted({confidence.operator for confidence in confidences})
        is_operator = np.array([[c.operator == name for name in names] for c in confidences], dtype=np.float64)
        model = LogisticRegression(max_iter=1000).fit(np.hstack([_parts(confidences), is_operator]), right)
        cell, operator, cells, *constants = map(float, model.coef_[0])
        common = float(model.intercept_[0])
        return cls(cell, operator, cells, {n: common + more for n, more in zip(names, constants, strict=True)})

    def probabilities(self, confidences: Sequence[Confidence]) -> Floats:
        least = min(self.operators.values())
        constants = np.array([self.operators.get(confidence.operator, least) for confidence in confidences])
        return _sigmoid(_parts(confidences) @ np.array([self.cell, self.operator, self.cells]) + constants)


CELL_MAPS: tuple[type[Map], ...] = (Temperature, Isotonic)
"""Those that need no more than a probability."""

MAPS: tuple[type[Map], ...] = (Temperature, Isotonic, Logistic)


def read_map(plain: Mapping[str, Any]) -> Map:
    """Return the map that ``Map.plain`` describes.

    Raises:
        ValueError, TypeError, KeyError: it describes none.
    """
    fields = {name: value for name, value in plain.items() if name != "method"}
    (kind,) = [kind for kind in MAPS if kind.method == plain["method"]]
    read = kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})
    probe = read.probabilities([Confidence(tenths / 10, 3, "COUNT", 1.0) for tenths in range(11)])
    if not (np.isfinite(probe).all() and (probe >= 0).all() and (probe <= 1).all()):
        raise ValueError("its probabilities are not between 0 and 1")
    return read


def _plain(confidences: Sequence[Confidence]) -> Floats:
    return np.array([confidence.probability for confidence in confidences], dtype=np.float64)


def _parts(confidences: Sequence[Confidence]) -> Floats:
    """Return the logits of cell and operator and the logarithm of the number of cells, ``[answers, 3]``."""
    values = [(c.cell, c.operator_probability, max(c.cells, 1)) for c in confidences]
    cell, operator, cells = np.array(values, dtype=np.float64).reshape(-1, 3).T
    return np.stack([_logits(cell), _logits(operator), np.log(cells)], axis=1)


def _logits(probability: Floats) -> Floats:
    inner = np.clip(probability, _LEAST, 1 - _LEAST)
    return np.log(inner / (1 - inner))


def _sigmoid(logits: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
