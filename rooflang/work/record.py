"""What one kernel or collective costs, as symbolic amounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rooflang.size import ZERO, Size, add, factored


@dataclass(frozen=True, slots=True)
class Work:
    """Amounts on one device of `pool`, symbolic in B, Q, S, the mesh axes and `domain`.

    flops            by matrix rate (fp4, fp8, bf16, ...), multiply and add counted as 2
    vector           element operations outside the matrix unit
    exponentials     transcendental evaluations
    reads, writes    bytes of main memory by class: weight, expert, state, activation
    host             bytes over the link of the host: `ahead` where they are known before the step reaches
                     the kernel, `late` where a choice decides them, `write` for rows of caches
    up_out, up_in    bytes on the scale-up links, out and in
    far_out, far_in  bytes on the scale-out links
    up_hops, far_hops    dependent messages on either (0 when the group is a single rank)
    reduces          the scale-up bytes are an all-reduce, which switches may do in the network
    waits            a later stage of a kernel: all its blocks wait for those of the stage before
    held             bytes of the values that must stay on chip over that wait
    """

    pool: str
    flops: Mapping[str, Size] = field(default_factory=dict)
    vector: Size = ZERO
    exponentials: Size = ZERO
    reads: Mapping[str, Size] = field(default_factory=dict)
    writes: Mapping[str, Size] = field(default_factory=dict)
    up_out: Size = ZERO
    up_in: Size = ZERO
    far_out: Size = ZERO
    far_in: Size = ZERO
    up_hops: Size = ZERO
    far_hops: Size = ZERO
    reduces: bool = False
    waits: bool = False
    held: Size = ZERO
    host: Mapping[str, Size] = field(default_factory=dict)

    def plus(self, other: Work) -> Work:
        """The two together, as one kernel on one device."""
        return Work(
            self.pool,
            _join(self.flops, other.flops),
            self.vector + other.vector,
            self.exponentials + other.exponentials,
            _join(self.reads, other.reads),
            _join(self.writes, other.writes),
            self.up_out + other.up_out,
            self.up_in + other.up_in,
            self.far_out + other.far_out,
            self.far_in + other.far_in,
            self.up_hops + other.up_hops,
            self.far_hops + other.far_hops,
            self.reduces or other.reduces,
            self.waits or other.waits,
            self.held + other.held,
            _join(self.host, other.host),
        )

    def depends_on(self, name: str) -> bool:
        """Whether any amount depends on a symbol."""
        amounts = (
            *self.flops.values(), self.vector, self.exponentials, *self.reads.values(), *self.writes.values(),
            self.up_out, self.up_in, self.far_out, self.far_in, self.up_hops, self.far_hops, self.held,
            *self.host.values(),
        )  # fmt: skip
        return any(name in size.symbols() for size in amounts)

    def factored(self) -> Work:
        """The same amounts, written for fast evaluation."""
        return Work(
            self.pool,
            {k: factored(v) for k, v in self.flops.items()},
            factored(self.vector),
            factored(self.exponentials),
            {k: factored(v) for k, v in self.reads.items()},
            {k: factored(v) for k, v in self.writes.items()},
            factored(self.up_out),
            factored(self.up_in),
            factored(self.far_out),
            factored(self.far_in),
            factored(self.up_hops),
            factored(self.far_hops),
            self.reduces,
            self.waits,
            factored(self.held),
            {k: factored(v) for k, v in self.host.items()},
        )


def _join(a: Mapping[str, Size], b: Mapping[str, Size]) -> Mapping[str, Size]:
    if not b:
        return a
    joined = dict(a)
    for key, value in b.items():
        joined[key] = add(joined[key], value) if key in joined else value
    return joined


@dataclass(frozen=True, slots=True)
class Kernel:
    """Operators that run together (or a stage of such a kernel, or one collective), with their summed work.

    `engine` is compute or link; a collective that crosses pools has one kernel on each side.
    """

    name: str
    section: str
    engine: str
    work: Work
    results: tuple[str, ...]
