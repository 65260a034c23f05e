"""Commands to the forwarder: too many, malformed, and for what is somebody else's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rumormill.ndn.wire.control import ControlParameters, decode_response
from rumormill.ndn.wire.link import LinkPacket, NackReason
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.attacker import Attacker, command, interest, registration
from tests.helpers.ndn.besieged import INSIDE, NEWS, PUBLISHER, Town


async def code_of(attacker: Attacker, question: bytes) -> int:
    """What the forwarder answers to a command."""
    return decode_response((await attacker.answered(question)).content or b"").code


# ---- too many


async def test_a_flood_of_commands_holds_back_its_sender_alone(idle_town: Town) -> None:
    town = idle_town
    await town.start(work_share=0.001, command_burst=100, command_rate=1)
    attacker = await town.attacker()
    async with town.honest_traffic():
        attacker.flood(registration("/same/again") for _ in range(5000))
        await town.until(lambda: town.held_back("commands"))
        assert await (await town.attacker(town.unix)).is_served()
    await town.until(lambda: town.blamed("dropped", "too_many"))
    assert town.held_back("commands") == {attacker.called}
    assert town.blamed("dropped", "too_many") == {attacker.called}


async def test_very_many_prefixes_are_no_more_than_a_face_may_have(idle_town: Town) -> None:
    town = idle_town
    await town.start(max_face_routes=200, max_fib=1000)
    attackers = [await town.attacker() for _ in range(3)]
    async with town.honest_traffic():
        for number, attacker in enumerate(attackers):
            attacker.flood(registration(f"/land/{number}/{each}") for each in range(1000))
        await town.until(lambda: town.node.counters["ignored.status_503"] == 3 * 800)
        assert await code_of(attackers[0], registration("/one/more")) == 503
        # Who has none yet gets its own.
        assert await code_of(await town.attacker(), registration("/newcomer")) == 200
    assert town.blamed("ignored", "status_503") == {each.called for each in attackers}
    assert town.node.sizes()["routes"] <= 3 * 200 + 10
    for attacker in attackers:
        attacker.cut()
    await town.until(lambda: town.node.sizes()["routes"] < 20)


# ---- malformed


def malformed() -> Iterator[bytes]:
    """Below /localhost/nfd, and no command."""
    yield interest("/localhost/nfd")
    yield interest("/localhost/nfd/rib/register")
    yield interest("/localhost/nfd/rib/register/nothing/of/the/kind")
    yield interest("/localhost/nfd/rib/register/%68%FF%FF%FF/%00/%00/%16%00/%17%00")
    yield interest("/localhost/nfd/faces/list/54=%01/50=%FF%FF%FF")
    yield command("rib/register", ControlParameters())
    yield command("rib/register", ControlParameters(name_from_uri("/a"), face_id=1 << 62))
    yield command("rib/register", ControlParameters(name_from_uri("/a"), cost=1 << 63))
    yield command("rib/register", ControlParameters(name_from_uri("/a" * 33)))
    yield command("rib/explode", ControlParameters(name_from_uri("/a")))
    yield command("faces/create", ControlParameters(uri="gopher://nowhere"))
    yield command("faces/destroy", ControlParameters())
    yield command("strategy-choice/set", ControlParameters(name_from_uri("/"), strategy=b""))


async def test_malformed_commands_are_refused_and_change_nothing(town: Town) -> None:
    attacker = await town.attacker(town.unix)
    before = town.node.sizes()
    async with town.honest_traffic():
        attacker.write(*malformed(), *malformed())
        for _ in range(2 * len(list(malformed()))):
            packet = await attacker.packet()
            if isinstance(packet, LinkPacket):
                assert packet.nack == NackReason.NO_ROUTE
            else:
                assert decode_response(packet.content or b"").code >= 400  # type: ignore[union-attr]
    await town.until(lambda: town.blamed("ignored", "status_400"))
    assert town.blamed("ignored", "status_400") == {attacker.called}
    after = town.node.sizes()
    assert all(before[each] == after[each] for each in ("routes", "faces", "strategies"))


# ---- what is somebody else's


async def test_routes_below_localhost_bring_nobody_the_commands_of_others(town: Town) -> None:
    thief, honest = await town.attacker(town.unix), await town.attacker()
    for prefix in ("/localhost", "/localhost/nfd", "/localhost/nfd/rib/register", "/localhop", "/"):
        thief.write(registration(prefix))
        await thief.packet()
    async with town.honest_traffic():
        for number in range(20):
            assert await code_of(honest, registration(f"/mine/{number}")) == 200
        newcomer = await town.live.client(town.tcp, prefix="/new")
        newcomer.subscribe("/new/topic")
        await newcomer.wait_subscribed("/new/topic", 15)
    thief.write(interest("/localhost/nfd/status/general"))
    packet = await thief.packet()  # the first thing that it hears is the answer to its own question
    assert isinstance(packet, LinkPacket)


@pytest.mark.usefixtures("far_away")
async def test_programs_on_other_machines_command_nothing(town: Town) -> None:
    attacker = await town.attacker(host="127.0.0.66")
    async with town.honest_traffic():
        attacker.write(
            registration(f"{NEWS}/notify"),
            registration(f"{PUBLISHER}/msg", scope="localhop"),
            command("faces/create", ControlParameters(uri="tcp://127.0.0.1:9")),
            interest("/localhost/nfd/faces/list"),
            interest("/localhost/anything"),
        )
        await town.until(lambda: town.blamed("ignored", "scope"))
    assert town.blamed("ignored", "scope") == {attacker.called}
    assert attacker.called not in (*town.node.subscribers(NEWS), *town.node.subscribers(INSIDE))


@pytest.mark.usefixtures("far_away")
async def test_who_may_register_from_another_machine_does_so_for_itself_alone(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(localhop_registration=True)
    attacker = await town.attacker(host="127.0.0.66")
    others = ControlParameters(name_from_uri("/mine"), face_id=256)
    async with town.honest_traffic():
        assert await code_of(attacker, registration("/mine", scope="localhop")) == 200
        assert await code_of(attacker, command("rib/register", others, "localhop")) == 403
        destroy = ControlParameters(face_id=256)
        assert await code_of(attacker, command("faces/destroy", destroy, "localhop")) == 403
    await town.until(lambda: town.blamed("ignored", "status_403"))
    assert town.blamed("ignored", "status_403") == {attacker.called}
