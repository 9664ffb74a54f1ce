"""Whether everyone can use the pages: axe-core finds nothing serious on any of them, in light and dark."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import watch
from tests.browser.screenshots import pages
from tests.browser.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_no_page_has_a_serious_finding(chrome: Any, service: Service, theme: str, width: int) -> None:
    context = chrome.new_context(
        base_url=service.address, color_scheme=theme, viewport={"width": width, "height": 900},
        reduced_motion="reduce",
    )  # fmt: skip
    page = context.new_page()
    seen = watch(page)
    found = []
    for name, place in pages(service.address).items():
        page.goto(place)
        expect(page.locator("[data-pending]")).to_have_count(0, timeout=120_000)
        if page.locator("figure.frontier").count():
            page.wait_for_selector(".plot[data-drawn]")
        for v in Axe().run(page).response["violations"]:
            if v["impact"] in ("serious", "critical"):
                found.append((name, v["id"], [n["html"][:160] for n in v["nodes"][:3]]))
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width + 1, f"{name} is {wide} wide"
    context.close()
    assert not found
    assert not [e for e in seen.errors if "404" not in e]  # one of the pages is a missing one
    assert seen.hosts <= {service.address}
