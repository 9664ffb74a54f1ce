"""Every top-level package imports, says what it is for, and is typed."""

from importlib import import_module
from importlib.resources import files

import pytest

PACKAGES = (
    "rooflang", "catalogue", "evaluator", "mutations", "db", "agent", "server", "seis", "migrations",
)  # fmt: skip


@pytest.mark.parametrize("name", PACKAGES)
def test_package_is_documented_and_typed(name: str) -> None:
    package = import_module(name)
    assert package.__doc__
    assert files(name).joinpath("py.typed").is_file()
