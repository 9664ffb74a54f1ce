"""Grid evaluation of the DeepSeek-V4-Pro decode step: points per CPU-second, and single points.

Run: python -m benchmarks.evaluate_grid
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from catalogue.devices import load_device
from catalogue.models import load_model
from evaluator.contexts import over_contexts
from evaluator.evaluate import evaluate
from evaluator.scenario import Scenario
from mutations.registry import rules
from mutations.start import starting_designs
from rooflang.design import Design, Mesh, Placement, Pool, Shard

ROUNDS = 5


def placed(axis: str = "tp") -> Design:
    """V4-Pro with data-parallel attention over dp, heads over the inner axis, experts over both."""
    model = load_model("deepseek-v4-pro")
    shards = (
        Shard("embed", "B", ("dp",)), Shard("head", "B", ("dp",)), Shard("head", "V", (axis,)),
        Shard("attention", "B", ("dp",)), Shard("attention", "H", (axis,)), Shard("attention", "G", (axis,)),
        Shard("attention", "IH", (axis,)), Shard("moe", "B", ("dp", axis)),
        Shard("experts", "E", ("dp", axis)),
    )  # fmt: skip
    mesh = Mesh("main", (("dp", 16), (axis, 4)))
    return model.with_(pools=(Pool("main", "b300-sxm", 64),), placement=Placement((mesh,), shards))


def grid_rate(setting: str, clock: str) -> tuple[int, float]:
    """(points, points per CPU-second) over batch x context x mesh x draft depth."""
    design, device = placed(), {"main": load_device("b300")}
    batch = np.unique(np.round(np.geomspace(1, 262144, 96)))[:, None, None, None, None]
    dp = np.array([1.0, 4, 16, 64])[None, :, None, None, None]
    tp = np.array([1.0, 2, 4, 8])[None, None, :, None, None]
    drafted = np.arange(2.0)[None, None, None, :, None]
    contexts = np.round(np.geomspace(1024, 1048576, 512))
    rates = []
    for _ in range(ROUNDS):
        start = time.process_time()
        first = evaluate(
            design, device, Scenario(), batch, axes={"dp": dp, "tp": tp}, drafted=drafted, setting=setting
        )
        points = np.size(over_contexts(first, contexts, clock))
        rates.append(points / (time.process_time() - start))
    return points, statistics.median(rates)


def single_point() -> tuple[float, float]:
    """CPU-seconds of (a new point of a known structure, one of a structure in which every section is new: its
    axes have names that were never seen) in a warm process."""
    device = {"main": load_device("b300")}
    known, fresh = [], []
    for i in range(ROUNDS):
        start = time.process_time()
        evaluate(placed(f"t{i}"), device, Scenario(), 512.0).seconds("overlapped")
        fresh.append(time.process_time() - start)
        start = time.process_time()
        evaluate(placed(f"t{i}"), device, Scenario(4096 + i), 512.0 + i).seconds("overlapped")
        known.append(time.process_time() - start)
    return statistics.median(known), statistics.median(fresh)


def first_points() -> float:
    """CPU-seconds of the first point of a structure as a search meets it: a rule made it from a known one."""
    device = load_device("b300")
    start = starting_designs(load_model("deepseek-v4-pro"))[0]
    evaluate(start, {"main": device}, Scenario(), 512.0).seconds("overlapped")
    times = []
    for rule in rules():
        for where in rule.sites(start):
            design = rule.apply(start, where)
            began = time.process_time()
            evaluate(design, {p.name: device for p in design.pools}, Scenario(), 512.0).seconds("overlapped")
            times.append(time.process_time() - began)
    return statistics.median(times)


def main() -> None:
    for setting in ("physical", "achievable"):
        for clock in ("limit", "overlapped", "serial"):
            points, rate = grid_rate(setting, clock)
            print(
                f"grid {setting:10} {clock:10} {points:>9,} points  "
                f"{rate / 1e6:6.1f} million points per CPU-second"
            )
    known, fresh = single_point()
    print(f"single point of a known structure           {known * 1e3:6.1f} CPU-ms")
    print(f"single point of a structure made by a rule  {first_points() * 1e3:6.1f} CPU-ms")
    print(f"single point when nothing of it is known    {fresh * 1e3:6.1f} CPU-ms")


if __name__ == "__main__":
    main()
