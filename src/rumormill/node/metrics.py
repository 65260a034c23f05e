"""What a node counts, in the text form that Prometheus reads: ``GET /metrics``.

Nothing is counted for it: counters and tables are those that the networks keep anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rumormill.live.network import Network

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]


class Sample(NamedTuple):
    """One number, and what tells it from the others of its family."""

    labels: Labels
    value: int


class Family(NamedTuple):
    """Numbers of one meaning."""

    name: str
    kind: str
    """``counter`` or ``gauge``."""
    meaning: str
    samples: list[Sample]


def exposition(networks: Sequence[Network], http: Mapping[str, int]) -> str:
    """All that is to be read; ``http`` are the tables of the HTTP side."""
    families = [
        Family("rumormill_events_total", "counter", "What happened, by event and reason.", [
            Sample({**_labels(network), "event": event, "reason": reason}, count)
            for network in networks for event, reason, count in by_reason(network.counters)
        ]),
        Family("rumormill_peers", "gauge", "Peers that are connected.", [
            Sample(_labels(network), len(network.peers)) for network in networks
        ]),
        Family("rumormill_topic_subscribers", "gauge", "Connected peers that listen to a topic of "
               "ours.", [
            Sample({**_labels(network), "topic": topic}, len(network.subscribers(topic)))
            for network, topic in _topics(networks)
        ]),
        Family("rumormill_topic_mesh_peers", "gauge", "Peers in the mesh of a topic of ours.", [
            Sample({**_labels(network), "topic": topic}, len(network.mesh(topic)))
            for network, topic in _topics(networks)
        ]),
        Family("rumormill_table_entries", "gauge", "Entries of the tables that a network keeps.", [
            Sample({**_labels(network), "table": table}, size)
            for network in networks for table, size in network.sizes().items()
        ]),
        Family("rumormill_http_entries", "gauge", "Connections of the HTTP side, and bytes that it "
               "keeps of them.", [Sample({"table": table}, size) for table, size in http.items()]),
    ]  # fmt: skip
    return "".join(line for family in families if family.samples for line in _lines(family))


def _labels(network: Network) -> dict[str, str]:
    return {"network": network.name, "node": network.id}


def _topics(networks: Sequence[Network]) -> Iterator[tuple[Network, str]]:
    for network in networks:
        for topic in dict.fromkeys((*network.topics, *network.relayed)):
            yield network, topic


def by_reason(counters: Mapping[str, int]) -> Iterator[tuple[str, str, int]]:
    """Each event with its reason and how often: what had none has an empty one, so that the sum
    over the reasons is how often it happened.

    >>> list(by_reason({"rejected": 3, "rejected.too_large": 2, "delivered": 7}))
    [('rejected', 'too_large', 2), ('rejected', '', 1), ('delivered', '', 7)]
    """
    reasons: dict[str, dict[str, int]] = {}
    for name, count in counters.items():
        event, _, reason = name.partition(".")
        reasons.setdefault(event, {})[reason] = count
    for event, counts in reasons.items():
        total = counts.pop("", 0)
        for reason, count in counts.items():
            yield event, reason, count
        rest = total - sum(counts.values())
        if rest > 0:
            yield event, "", rest


def _lines(family: Family) -> Iterable[str]:
    yield f"# HELP {family.name} {family.meaning}\n"
    yield f"# TYPE {family.name} {family.kind}\n"
    for labels, value in family.samples:
        named = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        yield f"{family.name}{{{named}}} {value}\n"


def _escaped(text: str) -> str:
    r"""A text between quotes.

    >>> _escaped('a "b"')
    'a \\"b\\"'
    """
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
