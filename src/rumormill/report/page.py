"""The report as one HTML page that needs nothing else: no network, no other file.

Style and script are ours and are written into the page, with a policy that allows these two and
nothing more: whatever a topic is called, no other script runs and nothing is loaded. All that is
put into the templates is escaped; names of topics and peers are chosen by strangers.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rumormill.core.words import plural, printable
from rumormill.report import sheets
from rumormill.report.as_json import json_object
from rumormill.report.comparison import Comparison
from rumormill.report.figures import Report
from rumormill.report.rows import SlowRow, Step
from rumormill.report.series import MOST_PEERS, page_data, plotted_topics
from rumormill.report.words import count, digits, milliseconds, of_expected, percent

STYLES: Final = ("page.css", "plots.css")
SCRIPTS: Final = ("base.js", "chart.js", "plots.js", "matrix.js", "tables.js", "main.js")
MOST_FINDINGS: Final = 6
"""Sentences that stand on the page at once; the others are a click away."""
MOST_SLOW: Final = 8


@dataclass(frozen=True)
class Tile:
    """One number, what it is called, and how it is said."""

    title: str
    figure: str
    value: float | None
    text: str
    words: str


def html_page(report: Report, comparison: Comparison | None = None) -> str:
    """The whole page, of one run or of two side by side."""
    figures = comparison.here if comparison else json_object(report)
    other = comparison.other if comparison else None
    style = _asset(STYLES)
    # A function around it: nothing of ours is a name of the page.
    script = f'(() => {{\n"use strict";\n{_asset(SCRIPTS)}}})();\n'
    return _environment().get_template("page.html.j2").render(
        style=Markup(style), script=Markup(script),
        policy=(f"default-src 'none'; script-src '{_fingerprint(script)}'; "
                f"style-src '{_fingerprint(style)}'; base-uri 'none'; form-action 'none'"),
        data=_json_block(page_data(report, figures, other)),
        report=report, figures=figures, comparison=comparison, about=_about(report, figures),
        tiles=list(tiles(report)), others=list(tiles(other)) if other else None,
        plotted=plotted_topics(report), most_findings=MOST_FINDINGS,
        slow=[(row, ways(row)) for row in report.gold.slowest[:MOST_SLOW]],
        many_peers=len(report.peer_labels) if len(report.peer_labels) > MOST_PEERS else 0,
        sheets=sheets, version=version("rumormill"),
    )  # fmt: skip


def tiles(report: Report) -> Iterator[Tile]:
    """The few numbers of a run that one looks for first."""
    total, rows = report.total, report.gold.topics

    def slowest(figure: str) -> float | None:
        known = [getattr(row, figure) for row in rows if getattr(row, figure) is not None]
        return max(known, default=None)

    owed = plural(total["expected"], "delivery")
    words = f"{total['expected'] - total['missing']:,} of {owed}"
    title = "Delivered"
    if report.promises == ["newest"]:
        title, words = "Had the newest value", f"{plural(total['skipped'], 'value')} skipped"
    yield Tile(title, "ratio", total["ratio"], percent(total["ratio"]), words)
    half, most, last = map(slowest, ("latency_p50", "latency_p99", "latency_max"))
    where = " in every topic" if len(report.topics) > 1 else ""
    words = f"99 % within {milliseconds(most)}, all within {milliseconds(last)}{where}"
    yield Tile("Latency, half within", "latency_p50", half, milliseconds(half),
               "not known" if most is None else words)  # fmt: skip
    copies = f"{plural(total['duplicates'], 'copy')} of what peers already had"
    if spared := sum(report.spared.values()):
        copies += f"; {spared:,} spared"
    each = total["duplicates_per_delivery"]
    yield Tile("Duplicates / delivery", "duplicates_per_delivery", each, digits(each), copies)
    weight = sum(row.delivered for row in rows if row.hops_mean is not None)
    hops = sum((row.hops_mean or 0.0) * row.delivered for row in rows) / weight if weight else None
    far = max((row.hops_max or 0 for row in rows), default=0)
    words = f"at most {far}; {plural(total['recoveries'], 'delivery')} by gossip"
    yield Tile("Hops", "hops_mean", hops, digits(hops), words if far else "not known")
    ends = [minutes[-1] for minutes in report.mesh.values()]
    means = [row.degree_mean for row in ends if row.degree_mean is not None]
    degree = sum(means) / len(means) if means else None
    words = "no mesh is known"
    if ends:
        least = min(row.degree_min or 0 for row in ends)
        words = f"{least} to {max(row.degree_max or 0 for row in ends)} in the last minute"
    yield Tile("Mesh degree", "degree_mean", degree, digits(degree), words)
    words = f"{plural(len(report.peers), 'peer')}, {plural(len(report.topics), 'topic')}"
    yield Tile("Messages", "published", total["published"], count(total["published"]), words)


@dataclass(frozen=True)
class Way:
    """A message's first copy at one node, and where it went from there."""

    step: Step
    share: float
    """How much of the whole time had passed."""
    below: Sequence[Way]


def ways(row: SlowRow) -> dict[str, list[Way]]:
    """Which way a message took from its publisher, and from peers that are not known."""
    children: defaultdict[str | None, list[Step]] = defaultdict(list)
    nodes = {step.node for step in row.tree}
    for step in row.tree:
        known = step.peer in nodes or step.peer == row.publisher
        children[step.peer if known else None].append(step)
    seen: set[str] = set()

    def below(node: str | None) -> list[Way]:
        found = []
        for step in children[node]:
            if step.node not in seen:  # a trace may be wrong; the page must end
                seen.add(step.node)
                share = (step.latency_ms or 0.0) / (row.slowest_ms or 1.0)
                found.append(Way(step, min(1.0, max(0.0, share)), below(step.node)))
        return found

    return {"known": below(row.publisher), "astray": below(None)}


def _about(report: Report, figures: dict[str, Any]) -> str:
    about = [", ".join(map(printable, report.networks)), printable(report.gold.place)]
    if report.gold.period:
        first, last = report.gold.period
        end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
        minutes = plural(figures["period"]["minutes"], "minute")
        about += [f"{first:%Y-%m-%d %H:%M} to {end} UTC", minutes]
    return " · ".join(part for part in about if part)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("rumormill.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters["printable"] = printable
    made.filters["milliseconds"] = milliseconds
    # A page cannot hold this character; a browser would put another in its place.
    made.filters["held"] = lambda text: str(text).replace("\0", "\\x00")
    made.globals["plural"] = plural
    made.globals["of_expected"] = of_expected
    return made


def _json_block(value: Any) -> Markup:
    """Data for the page's script, as text that cannot close its element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # all ASCII
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _asset(names: tuple[str, ...]) -> str:
    folder = files("rumormill.report") / "templates"
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def _fingerprint(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
