"""The tables and goals of the ndn family."""

from __future__ import annotations

from typing import Any

from bench.formatting import number
from bench.goals import Figure, Goal, fixed
from bench.ndn import forwarder_bench, pubsub_bench
from bench.tables import Table

Row = dict[str, Any]

LABELS = {"ours": "ours", "original": "ndn-python-repo", "ndnd": "ndnd", "inside": "inside"}

TIMES_AS_MANY = 5.0
"""Messages a second with 32 in flight, over the original's."""
HALF = 0.5
"""The p50 with one in flight, over the original's."""


def ndn_tables(part: Row) -> list[Table]:
    """Messages, forwarding, loss."""
    if part["missing_peers"]:
        note = f"Not measured: {part['missing_peers']}"
        return [Table("Publisher to subscriber, NDN", ["case"], notes=[note])]
    return [
        _pubsub_table(part["pubsub"]),
        _forwarding_table(part["forwarding"]),
        _loss_table(part["loss"]),
    ]


def _pubsub_table(part: Row) -> Table:
    hops = pubsub_bench.HOPS
    table = Table(
        "Publisher to subscriber over one forwarder, 1 KiB, TCP, a process each",
        ["forwarder", "signature", "in flight", "implementation", "messages/s", "p50 ms", "p99 ms",
         "CPU us", *(f"{hop} us" for hop in hops), "unconfirmed"],
        notes=[
            f"Medians of {part['rounds']} rounds, in which the two take turns, each on a forwarder"
            " of its own. A message counts when its publisher has the acknowledgement, and the"
            " latency is until then. CPU: of the whole process, for a message. ecdsa: notification,"
            " message and acknowledgement are signed with P-256 by both; the original verifies none"
            " of these signatures, ours verifies those of notification and message."
            " inside: ours alone, where the subscriber is a node with the forwarder inside; that is"
            " in its figure. ours / ndn-python-repo: in each round, then the median.",
            *(f"Failed: {failure}" for failure in part["failed_rounds"]),
        ],
    )  # fmt: skip
    for case in pubsub_bench.CASES:
        head = [LABELS[case.forwarder], case.signer, number(case.window)]
        for row in _of_case(part["rows"], case):
            table.lines.append([
                *head, LABELS[row["contestant"]],
                *(number(row[metric]["median"])
                  for metric in ("per_second", "p50_ms", "p99_ms", "cpu_us")),
                *(number(row["hops_us"][hop]["median"] or None) for hop in hops),
                number(row["unconfirmed"]),
            ])  # fmt: skip
        for ratio in _of_case(part["ratios"], case):
            rate, p50, cpu = (ratio[each]["median"] for each in ("per_second", "p50_ms", "cpu_us"))
            figures = [number(rate), number(p50), "-", number(cpu)]
            table.lines.append([*head, "ours / ndn-python-repo", *figures, *["-"] * 4])
    return table


def _forwarding_table(part: Row) -> Table:
    hops = forwarder_bench.HOPS
    table = Table(
        "A forwarder between one producer and one consumer",
        ["ends", "face", "in flight", "bytes", "forwarder", "Interests/s", "p50 us", "p99 us",
         *(f"{hop} us" for hop in hops), "CPU ours / ndnd"],
        notes=[
            f"Medians of {part['rounds']} rounds, in which the two take turns. us: CPU of the whole"
            " process for an Interest and its Data, syscalls included. bare: ends that look at as"
            " little as will do and write once for all that one read brought; with 16 in flight the"
            " forwarder gets several packets at once, which makes each of them cheaper, for either."
            " python-ndn: applications on that library, which take longer than the forwarder. No"
            " name is asked for twice. ours / ndnd: in each round, then the median.",
            *(f"Failed: {failure}" for failure in part["failed_rounds"]),
        ],
    )  # fmt: skip
    for case in forwarder_bench.CASES:
        head = [case.ends, case.face, number(case.window), number(case.size)]
        ratios = _of_case(part["ratios"], case)
        for row in _of_case(part["rows"], case):
            ours = row["forwarder"] == "ours" and ratios
            table.lines.append([
                *head, LABELS[row["forwarder"]],
                *(number(row[metric]["median"]) for metric in ("per_second", "p50_us", "p99_us")),
                *(number(row["hops_us"][hop]["median"]) for hop in hops),
                number(ratios[0]["cpu_us"]["median"]) if ours else "-",
            ])  # fmt: skip
    return table


def _loss_table(part: Row) -> Table:
    table = Table(
        f"{number(part['messages'])} messages over UDP, {part['loss']:.0%} of the datagrams lost",
        ["forwarder", "implementation", "delivered", "twice", "confirmed", "unknown", "denied",
         "agree", "delivered, not confirmed", "share", "false", "seconds"],
        notes=[
            f"{part['window']} in flight, on both ends' faces each datagram gets lost by chance,"
            " from one seed; a message with its acknowledgement is 8 of them. confirmed, unknown,"
            " denied: what the publisher was told; the original tells no unknown from denied."
            " agree: confirmed and there, or neither. delivered, not confirmed: the last"
            " acknowledgement got lost, or came too late. false: confirmed and not there, or denied"
            " and there.",
        ],
    )  # fmt: skip
    for row in part["rows"]:
        head = [LABELS[row["forwarder"]], LABELS[row["contestant"]]]
        if "missing" in row:
            table.lines.append([*head, f"missing: {row['missing']}", *["-"] * 9])
            continue
        figures = ("delivered", "twice", "confirmed", "unknown", "denied", "agree", "unheard")
        table.lines.append([
            *head, *(number(row[figure]) for figure in figures),
            f"{row['unheard'] / part['messages']:.1%}", number(row["false"]),
            number(row["seconds"]),
        ])  # fmt: skip
    return table


def _of_case(rows: list[Row], case: Any) -> list[Row]:
    """The rows of a case: they have its fields, and a few have one of the same name in addition."""
    fields = case._asdict()
    return [row for row in rows if all(row.get(key) == value for key, value in fields.items())]


# ---- goals


def ndn_goals(part: Row) -> list[Goal]:
    """Five times the messages, half the latency, no dearer than ndnd, nothing twice."""
    if part["missing_peers"]:
        return []
    return [
        *_pubsub_goals(part["pubsub"]),
        *_forwarding_goals(part["forwarding"]),
        *_loss_goals(part["loss"]),
    ]


def _pubsub_goals(part: Row) -> list[Goal]:
    goals = []
    for case in pubsub_bench.CASES:
        if case.forwarder == pubsub_bench.INSIDE:
            continue
        found = _of_case(part["ratios"], case)
        subject = f"over {LABELS[case.forwarder]}, {case.signer}, {case.window} in flight"
        if case.window > 1:
            figure = _figure(found, "per_second", part)
            limit = fixed("five times", TIMES_AS_MANY)
            goals.append(Goal(f"{subject}: messages/s over the original's", figure, True, limit))
        else:
            figure = _figure(found, "p50_ms", part)
            goals.append(
                Goal(f"{subject}: p50 over the original's", figure, False, fixed("half", HALF))
            )
    return goals


def _forwarding_goals(part: Row) -> list[Goal]:
    return [
        Goal(
            f"{case.ends} ends, {case.face}, {case.window} in flight, {case.size} B:"
            " CPU of an Interest, ours / ndnd",
            _figure(_of_case(part["ratios"], case), "cpu_us", part),
            False,
            fixed("ndnd's", 1.0),
        )
        for case in forwarder_bench.CASES
    ]


def _loss_goals(part: Row) -> list[Goal]:
    goals = []
    for row in part["rows"]:
        if row["contestant"] != "ours":
            continue
        for key, words in (("twice", "not delivered twice"), ("false", "with a true receipt")):
            subject = f"loss, over {LABELS[row['forwarder']]}: messages {words}"
            right = part["messages"] - row.get(key, 0)
            figure = fixed("", right) if key in row else Figure("", unknown=row["missing"])
            goals.append(Goal(subject, figure, True, fixed("all", part["messages"])))
    return goals


def _figure(found: list[Row], metric: str, part: Row) -> Figure:
    if not found:
        return Figure("", unknown="; ".join(part["failed_rounds"]) or "no figure")
    return Figure("", found[0][metric])
