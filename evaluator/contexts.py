"""Many contexts at once: grids in pieces that fit a processor's cache, and sequences that decode together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluator.evaluate import Evaluation
from evaluator.lengths import Lengths

PIECE = 1 << 17
"""Points per piece: arrays of a mebibyte, which a processor's caches hold, and few enough steps of Python."""

PARTS = 8
"""Places along an answer at which a sequence may be found."""

MOST = 128
"""Contexts that stand for a distribution."""


def over_contexts(first: Evaluation, contexts: NDArray[np.float64], clock: str) -> NDArray[np.float64]:
    """Seconds of a step by a clock, with the contexts (tokens) along a new last axis.

    `first` is an evaluation of the grid at one context; its arrays keep a last axis of size 1 free.
    """
    _keep_freed_memory()
    shape = np.shape(first.seconds(clock))
    step = max(1, PIECE // max(1, int(np.prod(shape))))
    out = np.empty((*shape[:-1], len(contexts)))
    for start in range(0, len(contexts), step):
        piece = contexts[start : start + step]
        out[..., start : start + step] = first.at_context(piece).seconds(clock)
    return out


def _keep_freed_memory() -> None:
    """Let the next wide arrays be made where freed ones were.

    The C library's allocator (glibc) returns large blocks to the system when they are freed, and every new
    one is filled page by page again, which takes longer than to compute it. Once it has freed a block of up
    to 32 MiB it keeps those as large. This one is never touched, so it costs no memory itself.
    """
    np.empty(31 << 20, dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Sequences:
    """Contexts of sequences that decode at one moment, with weights that sum to 1."""

    contexts: NDArray[np.float64]
    weights: NDArray[np.float64]


def decoding(prompts: Lengths, answers: Lengths) -> Sequences:
    """Contexts in a steady state: a request is seen in proportion to its answer's length, anywhere in it.

    An answer of n tokens after a prompt of L stands, after its first token, between L and L + n; each answer
    is taken at `PARTS` places, and places beyond `MOST` are joined with their neighbours, at their mean.
    """
    lengths, often = prompts.arrays
    tokens, shares = answers.arrays
    places = (np.arange(PARTS) + 0.5) / PARTS
    contexts = (lengths[:, None, None] + tokens[None, :, None] * places).ravel()
    weights = np.repeat((often[:, None] * (shares * tokens)).ravel(), PARTS)
    order = np.argsort(contexts, kind="stable")
    contexts, weights = contexts[order], weights[order] / weights.sum()
    keep = weights > 0
    contexts, weights = contexts[keep], weights[keep]
    if len(contexts) > MOST:
        group = np.minimum((np.cumsum(weights) - weights / 2) * MOST, MOST - 1).astype(int)
        joint: NDArray[np.float64] = np.bincount(group, weights, MOST).astype(float)
        sums: NDArray[np.float64] = np.bincount(group, weights * contexts, MOST).astype(float)
        contexts, weights = sums[joint > 0] / joint[joint > 0], joint[joint > 0]
    return Sequences(contexts, weights)
