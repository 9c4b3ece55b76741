"""How far two distributions over groups are apart: what each group adds to it."""

from __future__ import annotations

from functools import partial

import numpy as np

from rectitude.arrays import Floats
from rectitude.data.proportions import Terms


def divergences(alpha: float) -> tuple[Terms, Terms, Terms]:
    """The terms of Kullback-Leibler, where the list is mixed with `alpha` of the training, of
    Jensen-Shannon times two, in nats, and of the square of Hellinger times two."""
    return partial(_leibler, alpha), _shannon, _hellinger


def _divergence(one: Floats, other: Floats) -> Floats:
    """one * ln(one / other), 0 where there is nothing of the one."""
    with np.errstate(invalid="ignore"):  # 0/0
        return one * np.log(np.where(one > 0, one / other, 1.0))


def _leibler(alpha: float, trained: Floats, listed: Floats) -> Floats:
    return _divergence(trained, (1 - alpha) * listed + alpha * trained)


def _shannon(trained: Floats, listed: Floats) -> Floats:
    middle = (trained + listed) / 2
    return _divergence(trained, middle) + _divergence(listed, middle)


def _hellinger(trained: Floats, listed: Floats) -> Floats:
    return (np.sqrt(trained) - np.sqrt(listed)) ** 2
