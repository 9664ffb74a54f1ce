"""Cost formulas of lowered programs: FLOPs, bytes and messages, symbolic in every size."""

from rooflang.work.extent import Extents, product
from rooflang.work.record import Kernel, Work
from rooflang.work.unit import unit_work

__all__ = ["Extents", "Kernel", "Work", "product", "unit_work"]
