"""Models × devices × contexts by what their conventional baselines reach."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from agent.comparison.compare import COUNTS
from agent.versions import evaluator_version
from catalogue.devices import device_names
from catalogue.models import model_names
from server.dashboard.desk import AtDesk
from server.dashboard.render import page, wants_json
from server.dashboard.work.comparisons import compared
from server.names import device_name, model_name
from server.problems import Refusal

router = APIRouter()

MODELS = ["gpt-oss-120b", "qwen3-235b-a22b"]
DEVICES = ["h200-sxm", "b300-sxm"]
CONTEXTS = ["8192", "131072"]
MOST = 60
Many = Annotated[list[str] | None, Query(max_length=40)]


@router.get("/compare")
async def compare_page(
    request: Request,
    at: AtDesk,
    model: Many = None,
    device: Many = None,
    context: Many = None,
    setting: str = "physical",
) -> Response:
    """A table that fills as models are ready; the choice is in the address."""
    models = list(dict.fromkeys(model_name(m) for m in model or MODELS))
    devices = list(dict.fromkeys(device_name(d) for d in device or DEVICES))
    try:
        contexts = sorted({int(c.replace(",", "")) for c in context or CONTEXTS if c.strip()})
    except ValueError:
        contexts = []
    if not contexts or min(contexts) < 1 or max(contexts) > 2**24:
        raise Refusal("invalid", "contexts must be whole numbers of tokens, such as 8192; correct them")
    if len(models) * len(devices) * len(contexts) > MOST:
        raise Refusal(
            "invalid", f"a comparison must have at most {MOST} cases, but got "
            f"{len(models) * len(devices) * len(contexts)}; choose fewer",
        )  # fmt: skip
    kept = "achievable" if setting == "achievable" else "physical"
    patience = 60.0 if wants_json(request) else 0.9

    async def one(name: str) -> Any:
        order = {"model": name, "devices": devices, "contexts": contexts, "counts": COUNTS, "setting": kept}
        key = ("compare", name, tuple(devices), tuple(contexts), kept, evaluator_version())
        return await at.work(key, compared, order, patience)

    answers = await asyncio.gather(*(one(m) for m in models))
    rows = [row for a in answers if a.state == "ready" for row in a.value]
    waiting = [m for m, a in zip(models, answers, strict=True) if a.state == "pending"]
    data = {
        "chosen": {"models": models, "devices": devices, "contexts": contexts, "setting": kept},
        "rows": rows, "waiting": waiting, "counts": list(COUNTS),
        "problems": [
            {"model": m, "problem": a.problem}
            for m, a in zip(models, answers, strict=True) if a.state == "refused"
        ],
    }  # fmt: skip
    view = {
        "models": list(model_names()),
        "devices": list(device_names()),
        "pending": bool(waiting),
        "most": max((r["peak_tokens_per_second_per_gpu"] or 0 for r in rows), default=0),
    }
    return page(request, "compare.html", data, here="compare", title="Compare", view=view)
