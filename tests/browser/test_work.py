"""A working day in a browser: submit, watch, pause, open what was found, replay its certificate, compare."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import wait_for, watch
from tests.browser.screenshots import get, post
from tests.browser.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LONG = {"model": "llama-3.1-8b", "device": "h200-sxm", "count": 8, "budget": {"structures": 100_000}}


def test_a_search_from_the_form_to_its_frontier(page: Any, service: Service) -> None:
    page.goto("/new")
    page.get_by_label("Devices", exact=True).fill("eight")
    expect(page.locator("#wrong-count")).to_have_text("Devices must be a whole number, but got “eight”.")
    page.get_by_label("Devices", exact=True).fill("8")
    expect(page.locator("#wrong-count")).to_be_empty()
    page.get_by_label("Model", exact=True).fill("llama-3.1-8b")
    page.get_by_label("Device or system").fill("b200-sxm")
    page.get_by_label("Structures", exact=True).fill("30")
    expect(page.locator("#estimate")).to_contain_text("by the pace of 1 earlier search of this model")
    page.get_by_role("button", name="Start the search").click()
    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f]{32}$"))
    page.evaluate("window.unchanged = true")
    expect(page.locator("#r-state .chip")).to_have_text("done", timeout=120_000)
    assert page.evaluate("window.unchanged") is True  # it was never loaded again
    page.reload()
    expect(page.locator(".plot[data-drawn]")).to_be_visible()
    expect(page.locator("#of-limit")).to_have_text(re.compile(r"^\d+ %$"), timeout=60_000)


def test_a_discovery_taken_apart(page: Any, service: Service) -> None:
    page.goto("/discoveries")
    page.locator("tbody a").first.click()
    expect(page.locator("#h-time")).to_be_visible(timeout=90_000)
    for heading in ("What changed", "Roofline", "Memory of one device", "What an engine needs", "Lineage"):
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    assert page.locator(".roofline .op-after").count() > 3
    before = page.locator("#op-gpu").inner_text()
    page.locator("#operating").press("End")
    expect(page.locator("#op-gpu")).not_to_have_text(before)
    points = json.loads(page.locator("#operating-data").inner_text())
    last = points[-1]["tokens_per_second_per_gpu"]
    assert float(page.locator("#op-gpu").inner_text().replace(",", "")) == pytest.approx(last, rel=0.01)
    assert f"point={len(points) - 1}" in page.url
    page.get_by_role("button", name="Replay it").click()
    expect(page.locator("#replayed")).to_contain_text("It stands", timeout=90_000)


def test_designs_side_by_side(page: Any, service: Service) -> None:
    page.goto("/discoveries")
    expect(page.get_by_role("button", name="Compare marked")).to_be_disabled()
    page.get_by_role("checkbox").nth(0).check()
    page.get_by_role("checkbox").nth(1).check()
    page.get_by_role("button", name="Compare 2 marked").click()
    expect(page.get_by_role("heading", name="Designs side by side")).to_be_visible()
    expect(page.locator(".legend .key")).to_have_count(2)


def test_two_tabs_agree_while_a_job_is_paused_and_cancelled(page: Any, chrome: Any, service: Service) -> None:
    job = post(f"{service.address}/api/v1/jobs", LONG)["id"]
    other = page.context.new_page()
    for tab in (page, other):
        tab.goto(f"/jobs/{job}")
    wait_for(service, job, ("running",))
    expect(other.locator("#r-state .chip")).to_have_text("running")
    page.get_by_role("button", name="Pause").click()
    for tab in (page, other):
        expect(tab.locator("#r-state .chip")).to_have_text("paused", timeout=20_000)
    other.get_by_role("button", name="Cancel").click()
    for tab in (page, other):
        expect(tab.locator("#r-state .chip")).to_have_text("cancelled", timeout=20_000)


def test_a_page_outlives_a_restart_with_its_scroll_and_input(chrome: Any, service: Service) -> None:
    job = get(f"{service.address}/api/v1/jobs?state=done")["items"][0]["id"]
    again = post(f"{service.address}/api/v1/jobs/{job}/clone", {})["id"]
    wait_for(service, again, ("done", "failed"))
    context = chrome.new_context(base_url=service.address, viewport={"width": 1000, "height": 500})
    page = context.new_page()
    page.goto(f"/jobs/{again}")
    page.get_by_text("Service levels and measured runs").click()
    page.get_by_label("Measured runs").fill("50, 900, ours")
    page.mouse.wheel(0, 400)
    expect(page.locator(".legend")).to_contain_text("measured")
    scrolled = page.evaluate("scrollY")
    service.stop()
    expect(page.locator("#live-status")).to_have_text("Not reached; trying again", timeout=30_000)
    service.start()
    expect(page.locator("#live-status")).to_have_text("Live", timeout=30_000)
    made = post(f"{service.address}/api/v1/jobs/{again}/clone", {})["id"]
    wait_for(service, made, ("done", "failed"))
    assert page.get_by_label("Measured runs").input_value() == "50, 900, ours"
    assert page.evaluate("scrollY") == scrolled > 0
    assert "measured=" in page.url
    context.close()


def test_keys_alone(page: Any, service: Service) -> None:
    search = get(f"{service.address}/discoveries?format=json")["rows"][0]["search"]
    page.goto(f"/searches/{search}")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    stage = page.locator(".stage")
    expect(page.locator(".plot[data-drawn]")).to_be_visible()
    for _ in range(30):
        page.keyboard.press("Tab")
        if stage.evaluate("e => e === document.activeElement"):
            break
    expect(stage).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".readout")).to_contain_text("discovered:")
    page.keyboard.press("+")
    assert "zoom=" in page.url
    page.keyboard.press("0")
    assert "zoom=" not in page.url
    page.keyboard.press("End")
    assert re.search(r"point=new\.\d+", page.url)
    chosen = page.locator(".readout").inner_text()
    page.reload()
    expect(page.locator(".readout")).to_have_text(chosen)  # the address is enough to see the same
    stage.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/discoveries/[0-9a-f]+/[0-9a-f]+\?point=\d+"))


def test_a_click_on_a_point_opens_its_design(page: Any, service: Service) -> None:
    search = get(f"{service.address}/discoveries?format=json")["rows"][0]["search"]
    page.goto(f"/searches/{search}")
    expect(page.locator(".plot[data-drawn]")).to_be_visible()
    page.get_by_role("button", name="conventional").click()  # those have no page
    box = page.locator(".stage").bounding_box()
    for x, y in itertools.product(range(70, 400, 25), range(20, 300, 12)):
        page.mouse.move(box["x"] + x, box["y"] + y)
        if page.locator(".readout").inner_text().startswith(("discovered:", "tried:")):
            page.mouse.click(box["x"] + x, box["y"] + y)
            break
    expect(page).to_have_url(re.compile(r"/discoveries/"))


def test_the_page_is_whole_without_scripts(chrome: Any, service: Service) -> None:
    context = chrome.new_context(base_url=service.address, java_script_enabled=False)
    page = context.new_page()
    seen = watch(page)
    search = get(f"{service.address}/discoveries?format=json")["rows"][0]
    page.goto(f"/searches/{search['search']}")
    expect(page.locator("svg.fallback .line-new")).to_be_visible()
    expect(page.get_by_role("heading", name="Rules")).to_be_visible()
    expect(page.locator(".readout")).to_be_hidden()
    page.goto("/new")
    page.get_by_label("Context").fill("lots")
    page.get_by_role("button", name="Start the search").click()
    expect(page.get_by_role("alert")).to_contain_text("Context must be a whole number, but got “lots”.")
    assert not [e for e in seen.errors if "422" not in e]
    context.close()
