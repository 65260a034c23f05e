"""The page in a real browser: what it shows is what ``--json`` says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rumormill.cli import main
from tests.helpers.report.browser import Browser, Page, find_chromium
from tests.helpers.report.gold_tables import HOSTILE, Run, lake_rows, story
from tests.helpers.report.lake_on_disk import Rows, write_lake

OpenPage = Callable[..., Page]

FIGURES = """[...document.querySelectorAll('tr[data-%s]')].map(row => [row.dataset.%s,
    Object.fromEntries([...row.querySelectorAll('[data-figure]')].map(
        cell => [cell.dataset.figure, JSON.parse(cell.dataset.value ?? 'null')]))])"""

PLOTS = [
    "latency", "delivery", "hops", "speed", "mesh", "links", "scores", "control", "churn",
    "lifetimes",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(find_chromium(), tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> OpenPage:
    """Play runs, write their page with the command, and open it."""

    def open_it(*runs: Run | dict[str, Rows], **window: Any) -> Page:
        tables = [lake_rows(run) if isinstance(run, Run) else run for run in runs]
        folders = [write_lake(tmp_path / f"run-{at}", rows) for at, rows in enumerate(tables)]
        compare = ["--compare", str(folders[1])] if len(folders) > 1 else []
        file = tmp_path / "report.html"
        assert main(["report", "--tables", str(folders[0]), *compare, "--html", str(file)]) == 0
        page = browser.open(file, **window)
        assert page.run("document.documentElement.dataset.ready") == "yes"
        return page

    return open_it


def figures_on(page: Page, what: str) -> dict[str, dict[str, Any]]:
    return dict(page.run(FIGURES % (what, what)))


def as_json(capsys: pytest.CaptureFixture[str], folder: Path, *more: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["report", "--tables", str(folder), "--json", *more]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def at(value: dict[str, Any], path: str) -> Any:
    for part in path.split("."):
        value = value[part]
    return value


def test_the_numbers_on_the_page_are_those_of_the_json_form(
    open_page: OpenPage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = open_page(Run(nodes=12, topics=("weather", "news"), loss=0.2, blind_clocks=2, seed=3))
    expected = as_json(capsys, tmp_path / "run-0")
    for what, key in (("topic", "topics"), ("peer", "peers")):
        shown = figures_on(page, what)
        assert list(shown) == list(expected[key])
        for name, figures in shown.items():
            assert len(figures) >= 10
            for figure, value in figures.items():
                assert value == at(expected[key][name], figure), (name, figure)
    counts = {kind: figures["count"] for kind, figures in figures_on(page, "event").items()}
    assert counts == expected["events"]
    total = dict(page.run(
        "[...document.querySelectorAll('[data-total]')].map("
        "it => [it.dataset.total, JSON.parse(it.dataset.value)])"
    ))  # fmt: skip
    for figure in ("ratio", "published", "duplicates_per_delivery"):
        assert total[figure] == expected["total"][figure]
    sentences = page.run(
        "[...document.querySelectorAll('[data-problem]')].map(it => it.textContent)"
    )
    assert sentences == expected["problems"] + expected["notes"]
    assert page.run("document.querySelector('h1').textContent") == expected["verdict"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("nodes", [1, 2, 30, 200])
def test_every_plot_is_drawn_and_nothing_complains_or_is_loaded(
    open_page: OpenPage, nodes: int, dark: bool
) -> None:
    topics = ("weather", "news") if nodes < 100 else tuple(map(str, range(12)))
    page = open_page(Run(nodes=nodes, topics=topics, messages=1, loss=0.1), dark=dark)
    drawn = page.run(
        "[...document.querySelectorAll('[data-plot]')]"
        ".filter(it => it.querySelector('svg path[d], svg rect')).map(it => it.dataset.plot)"
    )
    assert drawn == (PLOTS if nodes > 1 else ["delivery", "mesh", "churn", "lifetimes"])
    assert page.complaints == []
    assert len(page.requests) == 1 and page.requests[0].startswith("file:")


@pytest.mark.parametrize("width", [320, 500, 800, 1280, 2200])
def test_the_page_is_never_wider_than_its_window(open_page: OpenPage, width: int) -> None:
    page = open_page(Run(nodes=30, topics=("weather", *HOSTILE)), width=width)
    assert page.run("document.documentElement.scrollWidth") <= width
    for plot in PLOTS:
        inside = page.run(f"document.querySelector('[data-plot={plot}] svg').clientWidth")
        assert 0 < inside <= width


def test_hostile_names_are_shown_and_do_nothing(open_page: OpenPage) -> None:
    run = Run(topics=HOSTILE, names=HOSTILE, nodes=len(HOSTILE), loss=0.3, split_minute=1)
    page = open_page(run, run)
    page.run("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    assert page.run("document.querySelectorAll('.numbers table').length") == len(PLOTS)
    # Let every plot speak, as what is under the pointer is put into the page, too.
    for plot in PLOTS:
        page.run(f"document.querySelector('[data-plot={plot}] svg').focus()")
        page.key("ArrowRight")
        assert page.run(f"document.querySelector('[data-plot={plot}] .tip').textContent"), plot
    assert page.run("document.title").startswith("rumormill report: ")
    assert page.run("document.querySelectorAll('script').length") == 2
    assert (
        page.run("document.querySelectorAll('img, iframe, [onerror], [onmouseover]').length") == 0
    )
    assert page.complaints == []
    assert HOSTILE[0] in page.run("document.querySelector('#topics').textContent")


def test_the_pointer_reads_the_share_of_deliveries_off_the_plot(
    open_page: OpenPage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = open_page(Run())
    p50 = as_json(capsys, tmp_path / "run-0")["topics"]["weather"]["latency_ms"]["p50"]
    box = page.run(
        "(() => { const svg = document.querySelector('[data-plot=latency] svg');"
        " svg.scrollIntoView({behavior: 'instant', block: 'center'});"
        " const box = svg.getBoundingClientRect();"
        " return {x: box.x, y: box.y, width: box.width, height: box.height}; })()"
    )
    tip = "document.querySelector('[data-plot=latency] .tip')"
    shares = []
    for place in (0.2, 0.5, 0.9):
        page.point(box["x"] + place * box["width"], box["y"] + box["height"] / 2)
        title, row = page.run(f"[...{tip}.children].map(it => it.textContent)")
        within = float(title.removeprefix("within ").removesuffix(" ms"))
        share = float(row.removeprefix("weather").removesuffix(" %"))
        assert (share >= 50) == (within >= p50 - 0.1)
        shares.append(share)
    assert shares == sorted(shares) and shares[0] < shares[-1]


def test_the_keyboard_walks_through_the_minutes(open_page: OpenPage) -> None:
    page = open_page(Run(split_minute=2, messages=1))
    page.run("document.querySelector('[data-plot=delivery] svg').focus()")
    told = []
    for _ in range(4):
        page.key("ArrowRight")
        told.append(
            page.run("document.querySelector('[data-plot=delivery] [aria-live]').textContent")
        )
    assert [text[:9] for text in told] == ["14:00 UTC", "14:01 UTC", "14:02 UTC", "14:03 UTC"]
    assert "arrived100 %" in told[1]
    assert "arrived100 %" not in told[2]


def test_a_click_on_a_heading_sorts_and_a_second_one_turns_it_around(open_page: OpenPage) -> None:
    page = open_page(Run(topics=("a", "b", "c", "d"), loss=0.3, seed=5))

    def latencies() -> list[float]:
        figures = figures_on(page, "topic").values()
        return [row["latency_ms.p50"] for row in figures if "latency_ms.p50" in row]

    click = (
        "[...document.querySelectorAll('#topics th button')]"
        ".find(it => it.textContent === 'p50').click()"
    )
    page.run(click)
    assert latencies() == sorted(latencies(), reverse=True)
    assert (
        page.run("document.querySelector('[aria-sort]').getAttribute('aria-sort')") == "descending"
    )
    page.run(click)
    assert latencies() == sorted(latencies())


def test_a_chosen_topic_changes_the_plots(open_page: OpenPage) -> None:
    page = open_page(Run(topics=("a", "b"), split_minute=2))
    label = "document.querySelector('[data-plot=mesh] svg').getAttribute('aria-label')"
    choose = (
        "(() => { const it = document.getElementById('topic'); it.selectedIndex = %d;"
        " it.dispatchEvent(new Event('change')); })()"
    )
    assert "at most 2 pieces" in page.run(label)
    page.run(choose % 2)
    assert "at most 1 pieces" in page.run(label)
    page.run(choose % 1)
    assert "at most 2 pieces" in page.run(label)


def test_a_filter_leaves_the_rows_that_match(open_page: OpenPage) -> None:
    page = open_page(Run(nodes=20))
    left = page.run(
        "(() => { const input = document.querySelector('#peers .filter');"
        " const wanted = document.querySelector('#peers tbody tr').dataset.peer;"
        " input.value = wanted.slice(-9); input.dispatchEvent(new Event('input'));"
        " return [...document.querySelectorAll('#peers tbody tr')].filter(it => !it.hidden)"
        ".map(it => it.dataset.peer === wanted); })()"
    )
    assert left == [True]


def test_light_and_dark_follow_the_system_and_the_button(open_page: OpenPage) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    press = "document.getElementById('theme').click()"
    light = open_page(Run(nodes=2))
    bright = light.run(ground)
    light.run(press)
    dark = light.run(ground)
    light.run(press)
    assert light.run(ground) == bright != dark


def test_two_runs_are_compared_on_the_page_as_in_the_json_form(
    open_page: OpenPage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = open_page(Run(topics=("a", "b"), delay_ms=16, loss=0.2), Run(topics=("a", "b"), seed=2))
    compared = as_json(capsys, tmp_path / "run-0", "--compare", str(tmp_path / "run-1"))["compare"]
    rows = page.run(
        "[...document.querySelectorAll('tr[data-compare]')].map(row => [row.dataset.topic,"
        " row.dataset.compare, Object.fromEntries([...row.querySelectorAll('[data-figure]')].map("
        "cell => [cell.dataset.figure, JSON.parse(cell.dataset.value ?? 'null')]))])"
    )
    assert len(rows) == 2 * 16
    for topic, figure, values in rows:
        assert values == at(compared["topics"][topic], figure)
    assert page.run("document.querySelectorAll('[data-plot=latency] .dashed').length") == 2


def test_a_rich_run_is_shown_whole(open_page: OpenPage) -> None:
    page = open_page(story())
    assert page.complaints == []
    text = page.run("document.body.innerText")
    for words in ("the newest value", "one subscriber", "docs/alerts.md#partition", "node-0",
                  "Large messages", "go-libp2p/0.41", "published it"):  # fmt: skip
        assert words in text, words
    # A value that was overtaken is not red; one that nobody got is.
    row = "[...document.querySelectorAll('#topics tr[data-topic=prices] td')]"
    bad = page.run(f"{row}.filter(it => it.classList.contains('bad')).map(it => it.dataset.figure)")
    assert bad == ["missing"]
    page.run("document.querySelector('[data-numbers=delivery]').open = true")
    rows = "document.querySelectorAll('[data-numbers=delivery] tbody tr').length"
    assert page.run(f"new Promise(done => setTimeout(() => done({rows}), 50))") == 72
