"""What a text, a JSON form or a design may at most be, so that a stranger's input costs little.

The same limits hold for the three forms of a design; what is printed can be parsed.
"""

from __future__ import annotations

import re
from typing import Final

MAX_TEXT_BYTES: Final = 512 * 1024
MAX_TOKENS: Final = 60_000  # words, numbers and marks
MAX_ITEMS: Final = 200  # between one pair of ( ) or [ ]
MAX_NESTING: Final = 16  # open brackets of any kind
MAX_STATEMENTS: Final = 5_000  # after nested calls are flattened; sections and repeats count
MAX_BLOCKS: Final = 1_000  # sections and repeats
MAX_DIMS: Final = 1_000  # declared dimensions
MAX_PLAN_LINES: Final = 2_000  # of placement and schedule together
MAX_SIZE_NODES: Final = 200
MAX_INTEGER: Final = 10**15
MAX_DIGITS: Final = 32  # of a number that is not a whole number
MAX_EXPONENT: Final = 99
MAX_NAME: Final = 64
MAX_STRING: Final = 200

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
PATH: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
DEVICE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
FORMAT: Final = re.compile(r"(?:index<[A-Za-z_][A-Za-z0-9_]*>|[A-Za-z_][A-Za-z0-9_]*)\Z")

# Words that end a list of names; every other keyword is free to be a name as well.
RESERVED: Final = frozenset(
    {"on", "over", "as", "fuse", "stream", "overlap", "microbatches", "prefetch", "cascade"}
)

# Words of placement that stand in place of a dimension: neither can be the name of one.
WHOLE: Final = "whole"
PARTIAL: Final = "partial"

# Memories beside a device's own.
TIERS: Final = ("host",)

# Symbols of sizes with a fixed meaning; every other one is the size of a mesh axis.
FIXED_SYMBOLS: Final = ("B", "Q", "S")
