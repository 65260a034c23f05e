from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from rumormill.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_keygen_makes_a_file_for_its_owner_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "node.key"
    code, out, _ = run(capsys, "keygen", "--out", str(path), "--json")
    key = json.loads(out)
    assert code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key["id"].startswith("12D3KooW")
    assert key["type"] == "ed25519"


def test_id_tells_the_same_as_keygen(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "node.key")
    _, made, _ = run(capsys, "keygen", "--out", path, "--json")
    code, told, _ = run(capsys, "id", path, "--json")
    assert code == 0
    assert json.loads(told) == json.loads(made)
    _, lines, _ = run(capsys, "id", path)
    assert json.loads(made)["id"] in lines
    assert json.loads(made)["public_key"] in lines


def test_keygen_overwrites_only_by_force(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "node.key"
    run(capsys, "keygen", "--out", str(path))
    before = path.read_bytes()
    code, out, err = run(capsys, "keygen", "--out", str(path))
    assert (code, out) == (1, "")
    assert "--force" in err
    assert path.read_bytes() == before
    code, _, _ = run(capsys, "keygen", "--out", str(path), "--force")
    assert code == 0
    assert path.read_bytes() != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_keygen_makes_the_kind_of_key_that_is_set(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = str(tmp_path / "alice.json")
    wishes = ["--set", "kind=ecdsa", "--set", "identity=/alice"]
    code, out, _ = run(capsys, "keygen", "--network", "ndn", "--out", path, *wishes, "--json")
    key = json.loads(out)
    assert code == 0
    assert key["id"].startswith("/alice/KEY/")
    assert key["type"] == "ecdsa"
    _, told, _ = run(capsys, "id", path, "--json")
    assert json.loads(told) == key


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        (("--network", "ndn", "--set", "kind=dsa"), "'dsa' is no kind of key"),
        (("--network", "ndn", "--set", "colour=red"), "it has only kind, identity"),
        (("--set", "kind=ecdsa"), "there is nothing to be set of its keys"),
    ],
)
def test_keygen_names_what_it_cannot_set(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, wish: tuple[str, ...], sentence: str
) -> None:
    path = tmp_path / "alice.json"
    code, _, said = run(capsys, "keygen", "--out", str(path), *wish)
    assert code != 0
    assert sentence in " ".join(said.split())
    assert not path.exists()


def test_keygen_by_force_leaves_nothing_behind_when_it_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    code, _, err = run(capsys, "keygen", "--out", str(folder), "--force")
    assert code == 1
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == [folder]


def test_id_refuses_what_is_no_key(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "node.key"
    path.write_text("not a key")
    path.chmod(0o600)
    code, out, err = run(capsys, "id", str(path))
    assert (code, out) == (2, "")
    assert str(path) in err


def test_id_of_a_missing_file_names_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, "id", str(tmp_path / "nothing"))
    assert code == 1
    assert err.endswith("nothing: no such file or directory.\n")


def test_id_takes_an_address_apart(capsys: pytest.CaptureFixture[str]) -> None:
    peer = "12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA"
    code, out, _ = run(capsys, "id", f"/ip4/127.0.0.1/tcp/4001/p2p/{peer}", "--json")
    assert code == 0
    parts = json.loads(out)
    assert (parts["host"], parts["port"], parts["id"]) == ("127.0.0.1", 4001, peer)
