"""Questions and answers between nodes."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.bcos.node.questions import LARGEST_SEQ, Questions
from rumormill.bcos.wire.p2p_packet import Module, P2PPacket
from rumormill.core import trace
from rumormill.core.timers import Alarm
from rumormill.core.transport import TransportClosed, TransportOpened
from tests.helpers.bcos.machine_network import credentials_of
from tests.helpers.bcos.nodes import Stranger, id_of, packets_of

Z = id_of("z")


class Asked:
    """A question of AMOP to node z, and what came of it."""

    def __init__(self, stranger: Stranger, node: str = Z) -> None:
        self.heard: list[tuple[bytes | None, str]] = []
        peers = stranger.machine.peers
        peers.ask(node, 0, b"question", 30.0, lambda *answer: self.heard.append(answer))


def test_an_answer_has_the_protocol_negated_and_the_seq_of_its_question() -> None:
    stranger = Stranger()
    asked = Asked(stranger)
    assert packets_of(stranger.machine._turn.take())[-1] == P2PPacket(1, 0, 2, b"question")
    stranger.say(P2PPacket(-1, 0, 2, b"answer"))
    assert asked.heard == [(b"answer", "")]


def test_only_the_node_that_was_asked_can_answer() -> None:
    stranger = Stranger()
    stranger.feed(TransportOpened(2, "y:1", None, "", credentials_of(25)))
    asked = Asked(stranger)
    stranger.connection = 2
    effects = stranger.say(P2PPacket(-1, 0, 2, b"forged"))
    assert asked.heard == []
    ignored = [e for e in effects if isinstance(e, trace.TraceEvent) and e.event == trace.IGNORED]
    assert (ignored[0].peer, ignored[0].fields["reason"]) == (id_of("y"), "late_answer")
    stranger.connection = 1
    stranger.say(P2PPacket(-1, 0, 2, b"true"))
    assert asked.heard == [(b"true", "")]


def test_an_answer_of_another_module_is_none() -> None:
    stranger = Stranger()
    asked = Asked(stranger)
    stranger.say(P2PPacket(-Module.TOPIC, 3, 2, b"1\ta"))
    assert asked.heard == []


def test_a_question_ends_with_its_time_or_with_the_link() -> None:
    stranger = Stranger()
    late, lost = Asked(stranger), None
    for _ in range(8):
        stranger.wait(4.0)
        stranger.tell_seq(0)
    assert late.heard == [(None, "timed_out")]
    lost = Asked(stranger)
    stranger.feed(TransportClosed(1))
    assert lost.heard == [(None, "left")]
    assert stranger.machine.sizes()["questions"] == 0


def test_a_question_to_an_unknown_node_fails_at_once() -> None:
    assert Asked(Stranger(), id_of("q")).heard == [(None, "not_sent")]


def test_questions_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rumormill.bcos.node.questions.MOST_QUESTIONS", 3)
    stranger = Stranger()
    heard = [Asked(stranger).heard for _ in range(5)]
    assert heard == [[], [], [], *[[(None, "too_many_questions")]] * 2]


def test_seqs_begin_anew_after_the_last_one_and_leave_out_those_that_wait() -> None:
    sent: list[Any] = []

    def send(node: str, packet: P2PPacket) -> bool:
        sent.append(packet.seq)
        return True

    questions = Questions(lambda: 0.0, send, Alarm())
    questions.ask(Z, 1, 0, b"", 30.0, lambda *_: None)
    questions.next_seq = LARGEST_SEQ
    for _ in range(3):
        questions.ask(Z, 1, 0, b"", 30.0, lambda *_: None)
    assert sent == [2, LARGEST_SEQ, 3, 4]
