"""The programs in the documents run, and print what they say."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tests.helpers.ports import own_port

ROOT = Path(__file__).parent.parent.parent


def programs(path: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(), re.DOTALL)


def test_two_nodes_by_hand_print_what_the_guide_says(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = [each for each in programs("docs/embedding.md") if "PrivateKey" in each]
    exec(compile(program, "docs/embedding.md", "exec"), {})
    assert capsys.readouterr().out == "rain at noon\n"


def test_the_router_of_the_guide_can_be_opened_with() -> None:
    import rumormill

    (program,) = [each for each in programs("docs/embedding.md") if "OnlyTheFirst" in each]
    names: dict[str, type] = {}
    exec(compile(program, "docs/embedding.md", "exec"), names)
    assert rumormill.open("gossipsub", router=names["OnlyTheFirst"]()) is not None


def test_the_program_of_the_bep50_page_shows_the_newest_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rumormill.bep50.live.key_file import create_item_key

    key = create_item_key(tmp_path / "key.json")
    (program,) = programs("docs/bep50.md")
    # As it stands, but with a key, on any free port, and done after the first message.
    for written, here in (
        ("PUBLIC_KEY", key.public_key.hex()),
        ("key.json", str(tmp_path / "key.json")),
        ("a4c9...", "a4" * 20),
        ("127.0.0.1:6881", "127.0.0.1:0"),
        ('message.fields["seq"], message.data)', 'message.fields["seq"], message.data); return'),
    ):
        assert written in program
        program = program.replace(written, here)
    exec(compile(program, "docs/bep50.md", "exec"), {})
    latest, message = capsys.readouterr().out.splitlines()
    assert "'info_hash': " in latest
    assert message.startswith("4 b'd2:ih20:")


def test_the_program_of_the_ndn_page_is_told_that_its_message_arrived(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (program,) = programs("docs/ndn.md")
    # As it stands, but on a free port, and done after the first message.
    program = program.replace("127.0.0.1:6363", f"127.0.0.1:{own_port()}").replace(
        "print(message.sender, message.data)", "print(message.sender, message.data); return"
    )
    exec(compile(program, "docs/ndn.md", "exec"), {})
    assert capsys.readouterr().out == ("delivered ('subscriber',)\n/alice b'rain at noon'\n")


def test_the_program_of_the_page_on_ethereum_prints_a_block_as_it_was_published(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (program,) = programs("docs/ethereum-topics.md")
    exec(compile(program, "docs/ethereum-topics.md", "exec"), {})
    topic, block = b"/eth2/4a26c58b/beacon_block/ssz_snappy", b"a block " * 1000
    hashed = hashlib.sha256(b"\x01\0\0\0" + b"\x26" + bytes(7) + topic + block)
    said = capsys.readouterr().out
    assert said == f"8000 None {hashed.hexdigest()[:40]}\n"
    (printed,) = re.findall(r"prints `(.*?)\.\.\.`", (ROOT / "docs/ethereum-topics.md").read_text())
    assert said.startswith(printed)


def test_the_program_of_the_readme_receives_what_it_publishes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (program,) = [each for each in programs("README.md") if "rumormill.open" in each]
    # As it stands, but on any free port, and done after the first message.
    program = program.replace("tcp/4001", "tcp/0").replace(
        "print(message.sender, message.data)", "print(message.sender, message.data); return"
    )
    exec(compile(program, "README.md", "exec"), {})
    assert re.fullmatch(r"12D3KooW\w+ b'rain at noon'\n", capsys.readouterr().out)
