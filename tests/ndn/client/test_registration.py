"""Routes at the forwarder: asked for in both forms, refused, refreshed and withdrawn."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Shutdown, Subscribe, Unsubscribe
from rumormill.core.transport import CloseTransport, RestTransport
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.control import Command, ControlResponse, encode_response
from rumormill.ndn.wire.data import encode_data
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.client import FORWARDER, ClientBench

ELSEWHERE = "tcp://192.0.2.1:6363"
BY_UDP = "udp://127.0.0.1:6363"


def form_of(command: Command) -> tuple[str, str]:
    return command.scope, command.form


def test_a_client_asks_for_its_routes_as_soon_as_there_is_a_forwarder() -> None:
    bench = ClientBench()
    bench.feed(Subscribe("/weather"))
    forwarder = bench.forwarder()
    served = forwarder.serve()
    assert [command.verb for command in served] == ["register", "register"]
    assert {form_of(command) for command in served} == {("localhost", "v0.3")}
    assert sorted(forwarder.granted()) == ["/alice/msg", "/weather/notify"]
    assert sorted(bench.routes()) == ["/alice/msg", "/weather/notify"]
    assert bench.problems() == []


@pytest.mark.parametrize("how", ["unanswered", "refused", "nack"])
def test_the_older_form_follows_when_the_newer_one_is_unanswered_or_refused(how: str) -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    ((command, interest),) = forwarder.commands()
    assert command.form == "v0.3"
    if how == "unanswered":
        bench.advance(1.01)
    elif how == "refused":
        forwarder.answer(interest, 400, "bad signature")
    else:
        forwarder.nack(interest)
    (served,) = forwarder.serve()
    assert form_of(served) == ("localhost", "v0.2")
    assert bench.routes() == ["/alice/msg"]
    assert bench.problems() == []
    assert bench.events("retried", what="register")
    # From now on it is known what this forwarder wants.
    bench.feed(Subscribe("/weather"))
    assert [command.form for command in forwarder.serve()] == ["v0.2"]


@pytest.mark.parametrize("form", ["v0.2", "v0.3"])
def test_no_other_form_is_tried_than_the_one_that_was_set(form: str) -> None:
    bench = ClientBench(command_form=form)
    forwarder = bench.forwarder()
    bench.advance(30)
    assert {command.form for command, _ in forwarder.commands()} == {form}


def test_a_forwarder_elsewhere_is_asked_below_localhop() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder(ELSEWHERE)
    bench.advance(1.5)
    assert [form_of(command) for command, _ in forwarder.commands()] == [
        ("localhop", "v0.3"),
        ("localhop", "v0.2"),
    ]


def test_by_udp_on_this_machine_both_scopes_are_tried() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder(BY_UDP)
    bench.advance(3.5)
    assert [form_of(command) for command, _ in forwarder.commands()] == [
        ("localhost", "v0.3"),
        ("localhost", "v0.2"),
        ("localhop", "v0.3"),
        ("localhop", "v0.2"),
    ]
    assert bench.problems() == []
    bench.advance(1)
    assert bench.problems() == [f"{BY_UDP} did not answer when asked for the route /alice/msg"]


def test_what_a_forwarder_answered_is_tried_first_when_it_is_back() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    bench.advance(1.01)
    forwarder.serve()
    forwarder.leave()
    bench.advance(1)
    again = bench.forwarder(dial=bench.last_dial())
    assert [command.form for command in again.serve()] == ["v0.2"]


def test_times_of_commands_always_increase() -> None:
    bench = ClientBench()
    times: list[int] = []

    def look(command: Command) -> bool:
        assert command.signature.time is not None
        times.append(command.signature.time)
        return True

    for number in range(20):
        bench.feed(Subscribe(f"/topic/{number}"))
    for attempt in range(4):
        forwarder = bench.forwarder(dial=bench.last_dial() if attempt else None)
        forwarder.serve(look)
        forwarder.leave()
        bench.advance(3)
    assert len(times) == 4 * 21
    assert all(earlier < later for earlier, later in pairwise(times))
    bench.now -= 3600  # the clock was set back
    forwarder = bench.forwarder(dial=bench.last_dial())
    forwarder.serve(look)
    assert all(earlier < later for earlier, later in pairwise(times))


def test_a_refusal_is_told_in_a_sentence_and_tried_again_later() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    asked: list[float] = []

    def refuse(command: Command) -> bool:
        asked.append(bench.now)
        return False

    forwarder.serve(refuse)
    assert bench.problems() == [f"{FORWARDER} refused the route /alice/msg: 403 Unauthorized"]
    for _ in range(4000):
        bench.advance(0.1)
        forwarder.serve(refuse)
    assert len(bench.problems()) == 1  # the same is not told again
    gaps = [later - earlier for earlier, later in pairwise(sorted(set(asked)))]
    assert gaps[0] < 1.2
    assert 30 < gaps[-1] <= 61
    assert len(asked) < 30
    for _ in range(601):
        bench.advance(0.1)
        forwarder.serve()
    assert bench.routes() == ["/alice/msg"]


def test_a_forwarder_that_does_not_answer_is_told_within_the_lifetimes_of_two_commands() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    bench.advance(2.01)
    assert bench.problems() == [f"{FORWARDER} did not answer when asked for the route /alice/msg"]
    forwarder.commands()
    bench.advance(1)
    forwarder.serve()
    assert bench.routes() == ["/alice/msg"]


def test_a_nack_says_that_commands_are_not_taken() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder(ELSEWHERE)
    for _ in range(2):
        ((_, interest),) = forwarder.commands()
        forwarder.nack(interest, NackReason.NO_ROUTE)
    problem = "it takes no commands below /localhop/nfd from us"
    assert bench.problems() == [f"{ELSEWHERE} refused the route /alice/msg: {problem}"]


def test_what_a_forwarder_says_is_told_without_control_characters_and_in_bounds() -> None:
    bench = ClientBench(command_form="v0.3")
    forwarder = bench.forwarder()
    ((_, interest),) = forwarder.commands()
    forwarder.answer(interest, 500, "\x1b[2J" + "a" * 3000)
    (problem,) = bench.problems()
    assert "\x1b" not in problem
    assert len(problem) < 400


def test_an_answer_that_is_damaged_is_not_believed_and_the_true_one_still_counts() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    ((_, interest),) = forwarder.commands()
    good = encode_data(
        interest.name, encode_response(ControlResponse(403, "no")), DigestSigner()
    ).raw
    forwarder.send(good[:-1] + bytes([good[-1] ^ 1]))
    assert bench.events("protocol_error", reason="wrong_digest")
    assert bench.problems() == []
    forwarder.answer(interest)
    assert bench.routes() == ["/alice/msg"]


def test_an_answer_that_comes_by_another_face_is_not_believed() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    another = bench.forwarder("tcp://127.0.0.1:6364")
    ((_, interest),) = forwarder.commands()
    another.answer(interest)
    assert bench.routes() == []
    assert bench.events("ignored", reason="not_in_use")


def test_an_answer_that_nobody_waits_for_is_none() -> None:
    bench = ClientBench(command_form="v0.3")
    forwarder = bench.forwarder()
    ((_, interest),) = forwarder.commands()
    bench.advance(1.5)
    forwarder.answer(interest)
    assert bench.routes() == []
    assert bench.events("ignored", reason="unexpected_data")


def test_unsubscribing_withdraws_the_route() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    bench.feed(Subscribe("/weather"))
    forwarder.serve()
    bench.feed(Unsubscribe("/weather"))
    (served,) = forwarder.serve()
    assert served.verb == "unregister"
    assert forwarder.granted() == ["/alice/msg"]
    assert bench.machine.sizes()["routes"] == 1


def test_a_route_that_was_never_asked_for_is_not_withdrawn() -> None:
    bench = ClientBench()
    bench.feed(Subscribe("/weather"))
    bench.feed(Unsubscribe("/weather"))
    assert [command.verb for command in bench.forwarder().serve()] == ["register"]
    assert bench.machine.sizes()["routes"] == 1


def test_a_route_that_may_have_been_granted_is_withdrawn() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    forwarder.serve()
    bench.feed(Subscribe("/weather"))
    bench.feed(Unsubscribe("/weather"))
    assert [command.verb for command in forwarder.serve()] == ["register", "unregister"]
    assert forwarder.granted() == ["/alice/msg"]
    assert bench.machine.sizes()["routes"] == 1


def test_a_route_that_may_have_been_granted_without_a_word_is_withdrawn_too() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    forwarder.serve()
    bench.feed(Subscribe("/weather"))
    bench.advance(3.5)  # all attempts are unanswered; the next round has not begun
    assert {command.verb for command, _ in forwarder.commands()} == {"register"}
    bench.feed(Unsubscribe("/weather"))
    assert [command.verb for command in forwarder.serve()] == ["unregister"]


def test_the_refusal_of_what_is_not_wanted_any_more_is_no_problem() -> None:
    bench = ClientBench(command_form="v0.3")
    forwarder = bench.forwarder()
    forwarder.serve()
    bench.feed(Subscribe("/weather"))
    bench.feed(Unsubscribe("/weather"))
    forwarder.serve(lambda command: False)
    assert bench.problems() == []
    assert bench.machine.sizes()["routes"] == 1


def test_changing_ones_mind_ends_with_what_was_wanted_last() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    forwarder.serve()
    for _ in range(5):
        bench.feed(Subscribe("/weather"))
        bench.feed(Unsubscribe("/weather"))
    bench.feed(Subscribe("/weather"))
    forwarder.serve()
    assert forwarder.granted() == ["/alice/msg", "/weather/notify"]
    assert bench.routes()[-1] == "/weather/notify"
    assert bench.machine.sizes()["routes"] == 2


def test_a_withdrawal_that_is_not_answered_is_tried_and_given_up() -> None:
    bench = ClientBench(command_attempts=3)
    forwarder = bench.forwarder()
    bench.feed(Subscribe("/weather"))
    forwarder.serve()
    bench.feed(Unsubscribe("/weather"))
    bench.advance(60)
    assert [command.verb for command, _ in forwarder.commands()] == 3 * ["unregister"]
    assert bench.events("dropped", what="unregister", reason="unanswered")
    assert bench.machine.sizes()["routes"] == 1


def test_by_udp_routes_are_asked_for_again_and_a_restart_is_not_noticed() -> None:
    bench = ClientBench(refresh_interval=60)
    forwarder = bench.forwarder(BY_UDP)
    bench.feed(Subscribe("/weather"))
    forwarder.serve()
    assert bench.machine.next_wake() is not None
    forwarder.routes.clear()  # it is another one now
    bench.advance(61)
    forwarder.serve()
    assert sorted(forwarder.granted()) == ["/alice/msg", "/weather/notify"]
    assert len(bench.routes()) == 2  # for the application nothing has changed


def test_by_udp_a_forwarder_that_is_gone_is_told_at_the_next_refresh() -> None:
    bench = ClientBench(refresh_interval=60, command_attempts=3)
    forwarder = bench.forwarder(BY_UDP)
    forwarder.serve()
    bench.advance(63.5)
    assert len(bench.problems()) == 1
    assert len(forwarder.commands()) == 3
    bench.advance(1.5)
    forwarder.serve()
    assert len(bench.routes()) == 2


def test_by_udp_routes_are_withdrawn_before_we_leave() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder(BY_UDP)
    bench.feed(Subscribe("/weather"))
    forwarder.serve()
    bench.feed(Shutdown())
    assert [command.verb for command, _ in forwarder.commands()] == ["unregister"] * 2
    bench.advance(1000)
    assert bench.machine.next_wake() is None
    assert bench.machine.sizes()["routes"] == 0


def test_by_udp_all_routes_are_withdrawn_though_they_are_many() -> None:
    bench = ClientBench(max_commands=4)
    forwarder = bench.forwarder(BY_UDP)
    for number in range(50):
        bench.feed(Subscribe(f"/topic/{number}"))
    forwarder.serve()
    bench.feed(Shutdown())
    withdrawn = {command.parameters.name for command, _ in forwarder.commands()}
    assert withdrawn == set(forwarder.routes)
    assert len(withdrawn) == 51


def test_on_a_connection_they_go_with_it() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    forwarder.serve()
    bench.feed(Shutdown())
    assert bench.take(CloseTransport) == [CloseTransport(forwarder.connection, "shutdown")]
    bench.advance(1000)
    assert bench.machine.next_wake() is None
    assert bench.machine.sizes()["routes"] == 0


def test_few_commands_are_under_way_at_once_and_all_are_sent_in_order() -> None:
    bench = ClientBench(max_commands=8)
    forwarder = bench.forwarder()
    forwarder.serve()
    topics = [f"/topic/{number:04d}" for number in range(500)]
    for topic in topics:
        bench.feed(Subscribe(topic))
    assert bench.machine.sizes()["commands"] == 8
    served = forwarder.serve()
    names = [command.parameters.name for command in served]
    assert names == [name_from_uri(f"{topic}/notify") for topic in topics]
    assert bench.machine.sizes()["commands"] == bench.machine.sizes()["commands_waiting"] == 0


def test_routes_have_a_bound() -> None:
    bench = ClientBench(max_routes=3)
    bench.forwarder().serve()
    bench.feed(Subscribe("/a"))
    bench.feed(Subscribe("/b"))
    with pytest.raises(LocalProtocolError, match="max_routes"):
        bench.feed(Subscribe("/c"))


def test_nothing_that_a_forwarder_answers_holds_it_back() -> None:
    bench = ClientBench()
    forwarder = bench.forwarder()
    for number in range(300):
        bench.feed(Subscribe(f"/topic/{number}"))
    forwarder.serve()
    assert not bench.take(RestTransport)
