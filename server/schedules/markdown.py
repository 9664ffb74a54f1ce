"""A report as Markdown, for mail and chat: names that users chose cannot become markup."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+\-!|~&])")


def markdown(report: Mapping[str, Any]) -> str:
    """The report for people, best read from the top."""
    spent = report["spent"]
    lines = [
        f"# {plain(report['name'])}: {report['state']}",
        "",
        f"Run of {report['fire_at'][:16].replace('T', ' ')} UTC ({plain(report['timezone'])}), over at "
        f"{report['finished_at'][:16].replace('T', ' ')} UTC: {report['tried']} structures tried, "
        f"{report['accepted']} accepted, {report['discoveries']} new discoveries.",
        f"Spent: {hours(spent['seconds'])}, {spent['model_calls']} calls of language models "
        f"({spent['model_tokens']} tokens, ${spent['model_dollars']:.2f}).",
    ]
    if report["reason"]:
        lines.append(f"Note: {plain(report['reason'])}.")
    if report["first"]:
        lines += ["", "## Look at first", ""]
        lines += [f"{i}. {plain(item['text'])}" for i, item in enumerate(report["first"], 1)]
    lines += [
        "",
        "## Searches",
        "",
        "| search | state | new | accepted | gain | before |",
        "|---|---|---|---|---|---|",
    ]
    for e in report["jobs"]:
        before = "none" if e["gain_before"] is None else f"{e['gain_before']:+.1%}"
        where = f"{plain(e['model'])} on {e['count']} x {plain(e['device'])}, {e['context_tokens']} tokens"
        new = e["new"]
        cells = (where, e["state"], new["structures"], new["accepted"], f"{e['gain']:+.1%}", before)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for e in report["jobs"]:
        if e["discoveries"]:
            lines += ["", f"### {plain(e['model'])}: new discoveries", ""]
            lines += [
                f"- {d['gain']:+.1%}: {plain(d['summary'])} (`{d['structure'][:12]}`, {plain(d['proposer'])})"
                for d in e["discoveries"]
            ]
    return "\n".join(lines) + "\n"


def plain(text: object) -> str:
    """Text on one line in which no character is markup."""
    return _MARKS.sub(r"\\\1", " ".join(str(text).split()))


def hours(seconds: float) -> str:
    """A length of time in hours and minutes."""
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"
