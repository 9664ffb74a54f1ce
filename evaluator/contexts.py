"""A grid over many contexts, evaluated in pieces that fit a processor's cache."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evaluator.evaluate import Evaluation

PIECE = 1 << 16
"""Points per piece: arrays of half a mebibyte, of which a few fit in a second-level cache."""


def over_contexts(first: Evaluation, contexts: NDArray[np.float64], clock: str) -> NDArray[np.float64]:
    """Seconds of a step by a clock, with the contexts (tokens) along a new last axis.

    `first` is an evaluation of the grid at one context; its arrays keep a last axis of size 1 free.
    """
    shape = np.shape(first.seconds(clock))
    step = max(1, PIECE // max(1, int(np.prod(shape))))
    out = np.empty((*shape[:-1], len(contexts)))
    for start in range(0, len(contexts), step):
        piece = contexts[start : start + step]
        out[..., start : start + step] = first.at_context(piece).seconds(clock)
    return out
