"""The verifier: does a candidate design compute the same model as the reference?"""

from mutations.verify.cache import Cache
from mutations.verify.verdict import Reason, Verdict
from mutations.verify.verifier import verify, verify_lowered

__all__ = ["Cache", "Reason", "Verdict", "verify", "verify_lowered"]
