"""How neighbours find, keep and lose each other."""

from __future__ import annotations

from rumormill.ndn.routing.events import LEFT_ALONE, NEIGHBOUR_DOWN, NEIGHBOUR_UP
from rumormill.ndn.routing.messages import Goodbye, Hello, Update
from tests.helpers.ndn.routers import Routers


def two(**parameters: object) -> Routers:
    net = Routers()
    net.add("ab", **parameters)
    net.announce("a", "/x")
    net.announce("b", "/y")
    return net


def test_who_is_dialed_and_who_dials_learn_what_the_other_has() -> None:
    net = two()
    net.join("ab")
    net.run(0.1)
    assert (net["a"].hops("/y"), net["b"].hops("/x")) == ({"b": 1}, {"a": 1})
    assert (net["a"].nodes("/y"), net["b"].nodes("/x")) == ("b", "a")
    assert net["a"].told(NEIGHBOUR_UP, outbound=True) == 1
    assert net["b"].told(NEIGHBOUR_UP, outbound=False) == 1


def test_changes_are_told_together_after_a_short_delay() -> None:
    net = two()
    net.join("ab")
    net.run(1.0)
    (face,) = net.faces("a", "b")
    before = len(face.messages())
    net.announce("a", "/x/1", "/x/2", "/x/3")
    net.withdraw("a", "/x")
    net.run(0.06)
    (update,) = face.messages()[before:]
    assert isinstance(update, Update)
    assert sum(len(group.prefixes) for group in update.groups) == 4
    net.run(0.05)
    assert net["b"].hops("/x/3") == {"a": 1}
    assert net["b"].hops("/x") == {}


def test_what_changes_there_and_back_is_not_told() -> None:
    net = two()
    net.join("ab")
    net.run(1.0)
    (face,) = net.faces("a", "b")
    before = len(face.messages())
    net.withdraw("a", "/x")
    net.announce("a", "/x")
    net.run(1.0)
    assert len(face.messages()) == before


def test_a_quiet_line_carries_hellos_alone() -> None:
    net = two()
    net.join("ab")
    net.run(1.0)
    (face,) = net.faces("a", "b")
    before = len(face.sent)
    net.run(50.0)
    assert {type(each) for each in face.messages()[3:]} == {Hello}
    assert 20 <= len(face.sent) - before <= 24  # a hello and an answer in five seconds


def test_who_never_answers_is_left_alone_after_some_tries() -> None:
    net = two()
    net.join("ab")
    (face,) = net.faces("a", "b")
    face.up = False
    net.run(1000.0)
    assert len(face.messages()) == 5
    assert net["a"].told(LEFT_ALONE, reason="silent") == 1
    assert net["a"].vector.sizes()["routing_timers"] == 0


def test_who_answers_with_a_nack_is_left_alone_at_once_and_tried_again_on_the_next_connection() -> (
    None
):
    net = Routers()
    net.add("a")
    net.add("b", announce=False)
    net.join("ab")
    net.run(100.0)
    (face,) = net.faces("a", "b")
    assert len(face.messages()) == 1
    assert net["a"].told(LEFT_ALONE, reason="nack") == 1
    net.part("ab")
    net.join("ab")
    net.run(100.0)
    (face,) = net.faces("a", "b")
    assert len(face.messages()) == 1


def test_who_is_dialed_by_datagrams_is_looked_for_on_and_on() -> None:
    net = two()
    net.join("ab", uri="udp")
    net.part("ab", silently=True)
    net.run(300.0)
    (face,) = net.faces("a", "b")
    assert 8 <= len(face.messages()) <= 10  # five soon, then one in a minute
    net.mend("ab")
    net.run(61.0)
    assert net["a"].hops("/y") == {"b": 1}


def test_a_neighbour_that_says_nothing_for_three_hellos_is_forgotten_with_its_routes() -> None:
    net = two()
    net.join("ab")
    net.run(1.0)
    net.part("ab", silently=True)
    net.run(13.0)
    assert net["a"].hops("/y") == {"b": 1}
    net.run(8.0)
    assert (net["a"].hops("/y"), net["b"].hops("/x")) == ({}, {})
    assert net["a"].told(NEIGHBOUR_DOWN, reason="silent") == 1
    net.mend("ab")
    net.run(61.0)
    assert (net["a"].hops("/y"), net["b"].hops("/x")) == ({"b": 1}, {"a": 1})


def test_a_face_that_goes_down_takes_its_routes_with_it() -> None:
    net = two()
    net.join("ab")
    net.run(1.0)
    net.part("ab")
    assert (net["a"].hops("/y"), net["b"].hops("/x")) == ({}, {})
    assert net["a"].vector.sizes()["neighbours"] == 0
    assert not net["a"].reachable.total()


def test_a_restart_is_noticed_by_the_epoch() -> None:
    net = two()
    net.join("ab", uri="udp")
    net.run(1.0)
    (far,) = net.faces("b", "a")
    net.add("b")  # a new life at the same address
    net.announce("b", "/z")
    net["b"].faces.append(far)
    far.owner = net["b"]
    net.run(7.0)
    assert net["a"].told(NEIGHBOUR_DOWN, reason="restarted") == 1
    assert (net["a"].hops("/y"), net["a"].hops("/z")) == ({}, {"b": 1})
    assert net["b"].hops("/x") == {"a": 1}


def test_goodbye_takes_all_routes_at_once() -> None:
    net = two()
    net.join("ab")
    net.run(1.0)
    net["b"].do(net["b"].vector.shutdown)
    net.run(0.02)
    assert isinstance(net.faces("b", "a")[0].messages()[-1], Goodbye)
    assert net["a"].hops("/y") == {}
    assert net["a"].told(NEIGHBOUR_DOWN, reason="goodbye") == 1
    net.run(2.0)
    assert net["b"].vector.sizes() == dict.fromkeys(net["b"].vector.sizes(), 0)


def test_two_that_dial_each_other_do_not_tell_each_other_their_own_ways_by_the_other_line() -> None:
    net = two()
    net.join("ab", "ba")
    net.run(1.0)
    assert [cost for (_, _), cost in net["a"].fib.items()] == [1, 1]
    net.withdraw("b", "/y")
    net.run(0.2)
    assert net["a"].fib == {}
    assert all(
        group.node == message.node
        for face in net["a"].faces
        for message in face.messages()
        if isinstance(message, Update)
        for group in message.groups
    )


def test_who_dials_itself_is_no_neighbour_of_itself() -> None:
    net = two()
    net.join("aa")
    net.run(100.0)
    assert net["a"].fib == {}
    assert net["a"].told(NEIGHBOUR_UP) == 0


def test_with_5_percent_loss_neighbours_stay_and_learn_every_change() -> None:
    net = Routers(loss=0.05)
    net.add("ab")
    net.join("ab", uri="udp")
    for number in range(500):
        net.announce("a", f"/x/{number}")
        net.run(1.0)
        if number >= 10:
            net.withdraw("a", f"/x/{number - 10}")
    net.run(20.0)
    assert net["a"].told(NEIGHBOUR_DOWN) == 0
    assert sorted(net["b"].fib.values()) == [1] * 10
    assert net["b"].hops("/x/499") == {"a": 1}


def test_a_long_vector_goes_in_several_packets_of_bounded_size() -> None:
    net = two()
    names = [f"/{'long' * 20}/{number}" for number in range(1000)]
    net.announce("a", *names)
    net.join("ab")
    net.run(2.0)
    assert len(net["b"].fib) == 1001
    (face,) = net.faces("a", "b")
    updates = [each for each in face.messages() if isinstance(each, Update)]
    assert len(updates) > 5
    assert [each.begin for each in updates] == [True] + [False] * (len(updates) - 1)
    assert [each.end for each in updates] == [False] * (len(updates) - 1) + [True]
    assert max(len(each.raw) for each in face.sent) <= 8800


def test_on_datagrams_updates_fit_into_one() -> None:
    net = two()
    net.announce("a", *(f"/{'long' * 20}/{number}" for number in range(100)))
    net.join("ab", uri="udp")
    net.run(5.0)
    assert len(net["b"].fib) == 101
    assert max(len(each.raw) for each in net.faces("a", "b")[0].sent) <= 1300


def test_a_side_that_lost_what_it_was_told_asks_for_all() -> None:
    net = two()
    net.join("ab")
    net.run(1.0)
    (neighbour,) = net["b"].vector.neighbours()
    (destination,) = neighbour.heard.vector
    net["b"].vector._hearing._set(neighbour, destination, 16)
    assert net["b"].hops("/x") == {}
    net.run(20.0)
    assert net["b"].hops("/x") == {"a": 1}
    assert net["b"].told("routes_asked") == 1
    assert net["a"].told(NEIGHBOUR_DOWN) == net["b"].told(NEIGHBOUR_DOWN) == 0


def test_a_line_that_works_one_way_makes_no_neighbours() -> None:
    net = two()
    net.join("ab")
    net.faces("b", "a")[0].mute = True
    net.run(1000.0)
    assert net["a"].told(NEIGHBOUR_UP) == net["b"].told(NEIGHBOUR_UP) == 0
    assert net["b"].vector.sizes()["neighbours"] == 0


def test_in_traces_a_neighbour_has_its_own_name_and_is_there_while_one_link_is() -> None:
    net = two()
    net.join("ab")
    net.join("ba")
    net.run(1.0)
    assert net["a"].told(NEIGHBOUR_UP) == 2
    assert [each.peer for each in net["a"].events if each.event == "peer_joined"] == ["/b"]
    net.part("ab")
    net.run(1.0)
    assert [each.peer for each in net["a"].events if each.event == "peer_left"] == ["/b"]
