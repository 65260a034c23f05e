"""Readers cost linear time: twice the bytes, twice the work, whoever wrote them.

Work is counted in steps and bytes, not in seconds (``tests/helpers/core/steps.py``); the readers,
and what is repeated in their input, are in ``tests/helpers/fuzz/readers.py``.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rumormill.bep50.wire import bencode
from tests.helpers import places
from tests.helpers.core.steps import TooMuchWork, Work, work_of
from tests.helpers.fuzz.fuzzing import pieces
from tests.helpers.fuzz.readers import READERS, REFUSALS, Pump, Reader

SIZE = 800
"""Bytes of the shorter input."""

STEPS, BYTES = 150, 400
"""For each byte of input, at most; the dearest comes in pieces of one byte and is an event each."""

AT_ONCE = Work(3000, 300_000)
"""For a reader that is made, files that are opened, and the like."""

PIECES = (0, 3)
"""All at once; and in pieces so small that a look back at each of them shows."""


def check(reader: Reader, pump: Pump, piece: int = 0) -> None:
    """Fail if the work grows faster than the input."""
    short, long = (_work(reader, pump.of(size), piece) for size in (SIZE, 2 * SIZE))
    # What is refused at half the length for another reason is no measure: so much it may always be.
    assert long.steps <= 2.2 * max(short.steps, 20 * SIZE) + 200, (short, long)
    # A table that grows takes its new room at once: whether it just did is chance.
    assert long.bytes <= 2.2 * max(short.bytes, 50 * SIZE) + 60_000, (short, long)


def _work(reader: Reader, data: bytes, piece: int) -> Work:
    allowed = Work(STEPS * len(data) + AT_ONCE.steps, BYTES * len(data) + AT_ONCE.bytes)
    return work_of(lambda: reader.read(data, piece), REFUSALS, reader.bounded, allowed)


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    """What is made once in a process, such as a compiled pattern, is nobody's input's fault."""
    for reader in READERS:
        for pump in reader.pumps.values():
            with contextlib.suppress(*REFUSALS):
                reader.read(pump.of(50), 0)


CASES = [
    pytest.param(reader, piece, id=f"{reader.name}{', in pieces' * bool(piece)}")
    for reader in READERS
    for piece in PIECES[: 1 + reader.in_pieces]
]


@pytest.mark.parametrize(("reader", "piece"), CASES)
def test_nesting_repetition_and_long_numbers_cost_what_their_length_is(
    reader: Reader, piece: int
) -> None:
    for name, pump in reader.pumps.items():
        try:
            check(reader, pump, piece)
        except AssertionError as error:
            raise AssertionError(f"{reader.name}, {name}: {error}") from error


@pytest.mark.parametrize(
    "reader", [pytest.param(each, id=each.name) for each in READERS if each.words]
)
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_is_repeated_costs_what_its_length_is(reader: Reader, data: st.DataObject) -> None:
    words = st.lists(st.sampled_from(reader.words), max_size=3).map(b"".join)
    pump = data.draw(st.builds(Pump, words, words.filter(bool), words), label="pump")
    check(reader, pump, data.draw(st.sampled_from(PIECES[: 1 + reader.in_pieces]), label="piece"))


def test_a_number_is_never_longer_than_python_reads_in_no_time() -> None:
    """Its time grows with the square, and many of our readers rely on this limit."""
    assert 0 < sys.get_int_max_str_digits() <= 4300


@pytest.mark.parametrize("name", ["open lists", "open dicts"])
@pytest.mark.parametrize("inside", ["bencode", "krpc"])
def test_the_library_for_bencoding_is_never_given_what_is_deep(
    name: str, inside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each level costs it 2.5 microseconds, in C, where no step is counted."""
    given: list[bytes] = []
    monkeypatch.setattr(bencode, "bdecode", given.append)
    (reader,) = [each for each in READERS if each.name == inside]
    for size in (20, 50, 990, 4000):
        with contextlib.suppress(*REFUSALS):
            reader.read(reader.pumps[name].of(size * 4), 0)
    assert given == []


# ---- nobody is forgotten

READING = re.compile(
    r"^ *def _?(?:decode|parse|read|load|from_bytes|from_text|from_protobuf|receive|feed|unpack)"
    r"(?:_[a-z_]+)?\(",
    re.MULTILINE,
)

NOT_READERS = {
    "bcos.family", "bep50.family", "libp2p.family", "ndn.family", "live.family.families",
    "live.family.family",  # registers and forwards
    "bcos.live.settings", "bep50.live.addresses", "bep50.live.settings", "libp2p.live.settings",
    "libp2p.gossipsub.score.parameters", "libp2p.gossipsub.score.setting",
    "libp2p.gossipsub.score.tables", "libp2p.gossipsub.score.topic_parameters",
    "bcos.node.links", "bcos.node.traffic",  # they hand packets to those who read them
    "bep50.live.libtorrent_dht",  # libtorrent has read it
    "bep50.machine.publications", "bep50.main_dht.client", "bep50.overlay.saved.memory",
    "bep50.overlay.members.routing_table", "libp2p.pubsub.inbound.intake", "live.driver",
    "libp2p.gossipsub.partial.receiver", "libp2p.host.dialer", "libp2p.wire.merging",
    "libp2p.host.outbound_stream", "libp2p.host.pubsub_feed", "libp2p.host.pubsub_streams",
    "libp2p.host.seeking",
    "live.transports.turns", "live.transports.udp",  # they pass on what was read, or is to be
    "capture.foreign.hermes_parquet", "capture.foreign.ledger", "capture.log",
    "system.private_files", "capture.writing.mending",  # bytes, an index: measured there
    "core.parameters", "cli.attack", "cli.networks.plan", "cli.networks.spool", "cli.topic",
    "cli.words.render", "cli.pipeline",
    "node.settings", "system.tables_location",  # what the user types
}  # fmt: skip
"""Modules with functions of such names that read no bytes of others by themselves."""

NOT_ROOMS = ("cli/demo/", "libp2p/attacks/", "pipeline/", "report/", "simulate/")
"""What they read we wrote ourselves, or Arrow, Iceberg and Spark read it."""


def modules_that_read() -> Iterator[str]:
    source = places.ROOT / "src" / "rumormill"
    for path in sorted(source.rglob("*.py")):
        place = path.relative_to(source).as_posix()
        if not place.startswith(NOT_ROOMS) and READING.search(path.read_text()):
            yield place.removesuffix(".py").replace("/", ".")


def test_every_module_that_reads_is_measured() -> None:
    measured = {module for reader in READERS for module in reader.modules}
    assert set(modules_that_read()) - measured - NOT_READERS == set()


# ---- the measure itself


def again_and_again(data: bytes, size: int) -> None:
    """Looks at all that came before with each piece."""
    seen = bytearray()
    for piece in pieces(data, size or 3):
        seen += piece
        for _ in seen:
            pass


def by_copies(data: bytes, size: int) -> None:
    pending = b""
    for piece in pieces(data, size or 3):
        pending = pending + piece


def by_cutting(data: bytes, _: int) -> None:
    while data:
        data = data[4:]


def by_searching(data: bytes, size: int) -> None:
    pending = bytearray()
    for piece in pieces(data, size or 3):
        pending += piece
        pending.find(b"end")


def by_descending(data: bytes, _: int) -> None:
    """As deep as it is told, with a copy of the rest at each level."""
    if data[:1] == b"l" and len(data) > 700:
        by_descending(data[1:], 0)


def by_a_list(data: bytes, _: int) -> None:
    known: list[int] = []
    for place in range(len(data)):
        if not known.count(place):
            known.append(place)


@pytest.mark.parametrize(
    "read", [again_and_again, by_copies, by_cutting, by_searching, by_descending, by_a_list]
)
def test_a_reader_of_quadratic_time_is_found(read: Callable[[bytes, int], object]) -> None:
    reader = Reader("quadratic", read, {}, ())
    with pytest.raises(AssertionError):
        check(reader, Pump(b"", b"l"), piece=3)


def test_a_reader_of_linear_time_is_left_in_peace() -> None:
    def linear(data: bytes, size: int) -> None:
        kept = bytearray()
        for piece in pieces(data, size):
            kept += piece
        sum(1 for _ in kept)

    check(Reader("linear", linear, {}, ()), Pump(b"", b"l"), piece=3)


def test_what_does_far_too_much_is_ended_before_its_end() -> None:
    def endless() -> None:
        while True:
            pass

    with pytest.raises(TooMuchWork):
        work_of(endless, most=Work(1000, 1000))
