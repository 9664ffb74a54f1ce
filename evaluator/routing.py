"""Skewed choices of experts: how many are read, and what the fullest rank gets, with and without replicas.

Experts have popularities: of a token's k picks, expert e gets the share q_e. A token picks it with the chance
π_e = k·q_e, but at most 1 (what is cut off goes to the others, so that Σ π_e = k). Ranks hold equally many
slots. With r redundant slots on each of R ranks, r·R replicas go one by one to the expert with the largest
π_e per replica; then slots are dealt out heaviest first, each to the emptiest rank with room. That is the
packing of EPLB (DeepSeek's expert-parallel load balancer); r = 0 is the same without replicas. A replica
of an expert with c_e of them gets 1/c_e of its tokens, so its chance is π_e / c_e. With a the chances of the
slots of a rank, T tokens, P pairs and σ_1 ≥ σ_2 ≥ … the ranks' shares of all pairs:

    distinct   with h = 1 - (1 - a)^T the largest over j of Σ h + √(2·ln j·Σ h(1 - h)), both sums over the
               slots of the rank with the j-th largest Σ h; at most its slots, and at least 1
    fullest    the largest over j of P·σ_j + √(2·P·σ_j·ln j): at least j ranks have as much as σ_j on average,
               and the fullest of j such ranks exceeds it by about that root; at least as under equal shares,
               P/R + √(2·P/R·ln R)
    copies     T · mean over ranks of 1 - Π (1 - a)^γ, with γ such that equal chances give the exact
               1 - C(E - E/R, k) / C(E, k)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evaluator.errors import ScenarioError

Floats = NDArray[np.float64]

# Tokens at which `distinct` is tabulated; straight lines between them are off by less than 1e-5.
_TOKENS: Floats = np.geomspace(1e-3, 1e10, 6000)


@dataclass(frozen=True, slots=True)
class Skew:
    """Popularities of experts: Zipf's law, or given frequencies in any unit, one per expert.

    Under Zipf's law the e-th expert has a share proportional to e^-`exponent`.
    """

    exponent: float = 0.0
    frequencies: tuple[float, ...] | None = None

    def shares(self, experts: int) -> Floats:
        """Shares of all picks, most popular first. Raises ScenarioError for a wrong number of frequencies."""
        if self.frequencies is None:
            raw = np.arange(1, experts + 1, dtype=float) ** -self.exponent
        else:
            raw = np.sort(np.array(self.frequencies, dtype=float))[::-1]
            if len(raw) != experts:
                raise ScenarioError(
                    f"frequencies must be given for each of the model's {experts} experts, but got {len(raw)}"
                )
        found: Floats = raw / raw.sum()
        return found

    def statistic(
        self, function: str, args: list[float | Floats], redundant: float | Floats
    ) -> float | Floats:
        """A routing function of `rooflang.size` for experts; see there for its arguments."""
        match function:
            case "distinct":
                experts, picks, tokens, ranks = args

                def value(p: Packing, t: Floats) -> Floats:
                    return np.minimum(p.distinct(t), np.maximum(np.max(picks) * t, 1.0))
            case "copies":
                ranks, experts, picks, tokens = args

                def value(p: Packing, t: Floats) -> Floats:
                    return t * p.needed
            case _:
                ranks, tokens, experts, picks = args

                def value(p: Packing, t: Floats) -> Floats:
                    return p.fullest(t)

        return self._by_packing(int(np.max(experts)), int(np.max(picks)), ranks, redundant, tokens, value)

    def _by_packing(
        self,
        experts: int,
        picks: int,
        ranks: float | Floats,
        redundant: float | Floats,
        amounts: float | Floats,
        value: Callable[[Packing, Floats], Floats],
    ) -> float | Floats:
        """`value` of the packing of each point's ranks and redundant slots."""
        r, spare, x = np.broadcast_arrays(
            np.asarray(ranks, float), np.asarray(redundant, float), np.asarray(amounts, float)
        )
        if r.ndim == 0:
            return float(value(packing(self, experts, picks, int(r), int(spare)), np.asarray(x)))
        out = np.empty(r.shape)
        keys = r * 4096 + spare
        for key in np.unique(np.asarray(ranks, float) * 4096 + np.asarray(redundant, float)):
            here = keys == key
            found = packing(self, experts, picks, int(key // 4096), int(key % 4096))
            out[here] = value(found, x[here])
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Packing:
    """Slots of experts on ranks.

    `shares` are the ranks' mean shares of all pairs, largest first; `needed` is the mean chance that a token
    needs a given rank; `chances` (ranks, slots) are zero for empty slots.
    """

    shares: Floats
    needed: float
    chances: Floats
    _distinct: Floats

    def distinct(self, tokens: Floats) -> Floats:
        """Expected distinct experts that the rank which needs most of them needs for so many tokens."""
        return np.asarray(np.interp(tokens, _TOKENS, self._distinct))

    def fullest(self, pairs: Floats) -> Floats:
        """Expected token–expert pairs on the fullest rank, of so many in all."""
        ranks = len(self.shares)
        # Equal shares are the most even ones: no others have a smaller maximum.
        found = np.maximum(pairs / ranks + np.sqrt(2 * np.log(ranks) * pairs / ranks), 1.0)
        for j in _some(ranks):
            mean = pairs * self.shares[j - 1]
            found = np.maximum(found, mean + np.sqrt(2 * np.log(j) * mean))
        return np.asarray(np.minimum(found, pairs))


@lru_cache(maxsize=4096)
def packing(skew: Skew, experts: int, picks: int, ranks: int, redundant: int) -> Packing:
    """Experts on ranks, with `redundant` further slots on each; a single rank has no use for replicas."""
    chances = _chances(skew.shares(experts), picks)
    extra = redundant * ranks if ranks > 1 else 0
    copies = _replicas(chances, extra, ranks)
    each = np.repeat(chances / copies, copies)
    room = -(-len(each) // ranks)
    held = np.zeros((ranks, room))
    used = np.zeros(ranks, dtype=int)
    load = np.zeros(ranks)
    for chance in np.sort(each)[::-1]:
        rank = int(np.argmin(np.where(used < room, load, np.inf)))
        held[rank, used[rank]] = chance
        used[rank] += 1
        load[rank] += chance
    log_missing = np.log1p(-np.minimum(held, 1 - 1e-15))
    distinct = _most_distinct(log_missing)
    needed = float(np.mean(-np.expm1(_sharing(experts, picks, ranks) * log_missing.sum(axis=1))))
    return Packing(np.sort(load)[::-1] / picks, needed, held, distinct)


def _some(ranks: int) -> list[int]:
    """Numbers of ranks of which the fullest is looked at: powers of two, and all."""
    return sorted({2**i for i in range(ranks.bit_length()) if 2**i <= ranks} | {ranks})


def _most_distinct(log_missing: Floats) -> Floats:
    """Distinct experts on the rank that needs most, over `_TOKENS`; `log_missing` is (ranks, slots)."""
    ranks = len(log_missing)
    means, variances = np.empty((ranks, len(_TOKENS))), np.empty((ranks, len(_TOKENS)))
    for rank in range(ranks):
        # Equal chances are summed once.
        values, counts = np.unique(log_missing[rank], return_counts=True)
        missed = np.exp(np.multiply.outer(_TOKENS, values))
        means[rank] = (1.0 - missed) @ counts
        variances[rank] = ((1.0 - missed) * missed) @ counts
    order = np.argsort(-means, axis=0, kind="stable")
    room = np.count_nonzero(log_missing, axis=1)
    found: Floats = np.ones(len(_TOKENS))
    for j in _some(ranks):
        at = order[j - 1], np.arange(len(_TOKENS))
        found = np.maximum(found, np.minimum(means[at] + np.sqrt(2 * np.log(j) * variances[at]), room[at[0]]))
    return found


def _chances(shares: Floats, picks: int) -> Floats:
    """The chance of each expert to be among a token's picks: proportional to its share, at most 1."""
    chances = np.minimum(picks * shares, 1.0)
    while chances.sum() < picks - 1e-9:
        free = chances < 1
        if not free.any() or shares[free].sum() <= 0:
            break
        wanted = picks - np.count_nonzero(~free)
        chances = np.where(free, np.minimum(shares * (wanted / shares[free].sum()), 1.0), 1.0)
    return chances


def _replicas(chances: Floats, extra: int, ranks: int) -> NDArray[np.int64]:
    """How many replicas each expert has; at most one per rank."""
    copies = np.ones(len(chances), dtype=np.int64)
    for _ in range(extra):
        each = np.where(copies < ranks, chances / copies, -1.0)
        best = int(np.argmax(each))
        if each[best] < 0:
            break
        copies[best] += 1
    return copies


def _sharing(experts: int, picks: int, ranks: int) -> float:
    """γ: picks are distinct, so that of a rank's slots fewer are missed together than one by one."""
    own = experts / ranks
    if experts == picks or own >= experts - picks + 1:
        return 1e3  # some pick always falls on the rank
    missed = sum(np.log((experts - own - i) / (experts - i)) for i in range(picks))
    return float(missed / (own * np.log1p(-picks / experts)))
