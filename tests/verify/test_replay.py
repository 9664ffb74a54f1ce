"""Certificates are replayed: they stand, and what was changed in them is noticed."""

from __future__ import annotations

import json

import pytest

from catalogue.models import load_model
from mutations.start import starting_designs
from mutations.verify import verify
from mutations.verify.replay import CertificateError, document, replay


@pytest.fixture(scope="module")
def said():
    reference = load_model("llama-3.1-8b")
    candidate = starting_designs(reference)[1]
    verdict = verify(reference, candidate, seed=5)
    return json.dumps(document(reference, candidate, verdict))


def test_a_certificate_stands_on_its_own(said):
    found = replay(json.loads(said))
    assert found.stands, found.differences
    assert found.verdict.accepted


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda d: d.update(false_accept_bound=0.0), "the bound"),
        (lambda d: d.update(trials=9), "number of trials"),
        (lambda d: d["units"].update(compared=[]), "what was compared"),
        (lambda d: d.update(conditions=[]), "conditions"),
        (lambda d: d["designs"].update(reference=d["designs"]["candidate"]), "structure"),
        (
            lambda d: d["designs"].update(
                candidate=d["designs"]["candidate"].replace("x = x + m_out", "x = x + x")
            ),
            "refused now",
        ),
    ],
)
def test_what_was_changed_is_noticed(said, change, text):
    document_ = json.loads(said)
    change(document_)
    found = replay(document_)
    assert not found.stands
    assert any(text in d for d in found.differences), found.differences


@pytest.mark.parametrize("key", ["designs", "version", "seed"])
def test_what_is_no_certificate_is_said(said, key):
    document_ = json.loads(said)
    del document_[key]
    with pytest.raises(CertificateError, match="a certificate must"):
        replay(document_)


def test_a_refused_design_has_none():
    reference = load_model("llama-3.1-8b")
    other = load_model("qwen3-8b")
    with pytest.raises(CertificateError, match="refused"):
        document(reference, other, verify(reference, other))
