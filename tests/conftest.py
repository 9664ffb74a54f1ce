"""Property tests draw the same examples in every run; `--hypothesis-profile=default` draws others."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, database=None)
settings.load_profile("repeatable")
