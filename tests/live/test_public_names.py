from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import rumormill


def test_the_public_names_are_sorted_and_all_there() -> None:
    assert rumormill.__all__ == sorted(rumormill.__all__)
    assert dir(rumormill) == rumormill.__all__
    for name in rumormill.__all__:
        assert getattr(rumormill, name).__module__.startswith("rumormill.")


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    assert not hasattr(rumormill, "shout")


HEAVY = ("asyncio", "socket", "ssl", "cryptography", "nacl", "pydantic", "pyspark")


@pytest.mark.parametrize("package", ["rumormill", "rumormill.core", "rumormill.live"])
def test_importing_a_package_brings_nothing_heavy_before_it_is_used(package: str) -> None:
    code = f"import sys, {package}; print([name for name in {HEAVY!r} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


ROOMS = (
    "rumormill.live",
    "rumormill.live.files",
    "rumormill.live.transports",
    "rumormill.simulate",
    "rumormill.simulate.levels",
)


@pytest.mark.parametrize("room", ROOMS)
def test_the_names_of_a_room_are_all_there(room: str) -> None:
    module = importlib.import_module(room)
    assert len(module.__all__) == len(set(module.__all__)) > 0
    assert all(hasattr(module, name) for name in module.__all__)
    assert not hasattr(module, "shout")


@pytest.mark.parametrize(
    "module",
    [
        f"{room}.{name}"
        for room, name in [
            ("rumormill.simulate.levels", "peers"),
            ("rumormill.simulate", "world"),
            ("rumormill.simulate", "connection"),
            ("rumormill.live.transports", "tcp_connection"),
            ("rumormill.live.transports", "words"),
            ("rumormill.live", "topics.topic"),
        ]
    ],
)
def test_a_module_can_be_the_first_that_is_imported(module: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
