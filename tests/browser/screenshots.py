"""Pictures of every page in light and dark, wide and narrow: `python -m tests.browser.screenshots DIR`.

Without `--database` a small search is run first in a private one.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.browser.service import browser, running

JOB = {"model": "gpt-oss-120b", "device": "b300-sxm", "count": 16, "budget": {"structures": 60}}
PASTED = (
    "model,hw,num_gpus,conc,isl,osl,tput_per_gpu,median_ttft\n"
    "gpt-oss-120b,h200-sxm,8,256,8192,1024,21600,0.8\ngpt-oss-120b,h200-sxm,8,64,8192,1024,12400,0.4\n"
)
RUN = "model=gpt-oss-120b&device=h200-sxm&count=8&throughput=2400&batch=256&context=8192"


def get(address: str) -> Any:
    """The JSON at an address."""
    with urllib.request.urlopen(address) as answer:
        return json.load(answer)


def post(address: str, body: Any) -> Any:
    """The JSON of an answer to JSON."""
    request = urllib.request.Request(
        address, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def pages(address: str) -> dict[str, str]:
    """Addresses by the name of the picture."""
    job = get(f"{address}/api/v1/jobs?limit=1")["items"][0]["id"]
    found = get(f"{address}/discoveries?format=json")["rows"]
    marked = "&".join(f"design={d['search']}/{d['structure']}" for d in found[:3])
    named = {
        "overview": "/", "jobs": "/jobs", "job": f"/jobs/{job}", "new": "/new",
        "new-wrong": "/new?count=many", "discoveries": "/discoveries",
        "none": "/discoveries?text=nothing+such",
        "compare": "/compare", "gap": f"/gap?{RUN}",
        "gap-pasted": f"/gap?paste={quote(PASTED)}", "models": "/models", "model": "/models/gpt-oss-120b",
        "devices": "/devices", "device": "/devices/b300-sxm", "schedules": "/schedules",
        "reports": "/reports", "validation": "/validation", "settings": "/settings",
        "missing": "/jobs/" + "0" * 32, "login": "/login?ended=true",
    }  # fmt: skip
    if found:
        named |= {
            "design": found[0]["href"], "side-by-side": f"/discoveries/compare?{marked}",
            "search": f"/searches/{found[0]['search']}",
        }  # fmt: skip
    return named


def take(address: str, folder: Path, only: set[str], sizes: list[int], themes: list[str]) -> None:
    """Write one picture per page, width and theme."""
    from playwright.sync_api import expect

    with browser() as chrome:
        for theme in themes:
            for width in sizes:
                context = chrome.new_context(
                    viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
                )
                page = context.new_page()
                for name, place in pages(address).items():
                    if only and name not in only:
                        continue
                    page.goto(address + place)
                    expect(page.locator("[data-pending]")).to_have_count(0, timeout=120_000)
                    if page.locator("figure.frontier").count():
                        page.wait_for_selector(".plot[data-drawn]")
                    if page.locator("#of-limit").count():
                        expect(page.locator("#of-limit")).not_to_have_text("…", timeout=60_000)
                    page.screenshot(path=folder / f"{name}-{theme}-{width}.png", full_page=True)
                context.close()


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--server", help="address of a running server in place of one of its own")
    parser.add_argument("--only", nargs="*", default=[], help="names of pages")
    parser.add_argument("--width", nargs="*", type=int, default=[1440, 390])
    parser.add_argument("--theme", nargs="*", default=["light", "dark"])
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    if asked.server:
        take(asked.server, asked.folder, set(asked.only), asked.width, asked.theme)
        return
    with tempfile.TemporaryDirectory() as private, running(Path(private)) as service:
        job = post(f"{service.address}/api/v1/jobs", JOB)
        while get(f"{service.address}/api/v1/jobs/{job['id']}")["state"] in ("queued", "running"):
            time.sleep(1)
        take(service.address, asked.folder, set(asked.only), asked.width, asked.theme)


if __name__ == "__main__":
    main()
