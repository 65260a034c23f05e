"""What one signature costs, in CPU microseconds: PyNaCl beside every build of the extension.

python native/measure.py                        the build that is installed
python native/measure.py FILE.abi3.so ...       other builds

Every route takes its turn in every pass and its cheapest pass counts, so that whatever else the
machine is doing disturbs them alike.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import time
from collections.abc import Callable
from types import ModuleType

from nacl.bindings import crypto_sign, crypto_sign_open, crypto_sign_seed_keypair

PASSES = 200
CALLS = 50
PAYLOAD = b"libp2p-pubsub:" + bytes(range(256)) * 4 + bytes(88)  # 1126 bytes: a message of 1 KiB

PUBLIC_KEY, SECRET = crypto_sign_seed_keypair(b"s" * 32)
SIGNATURE = crypto_sign(PAYLOAD, SECRET)[:64]


def load(path: str) -> ModuleType:
    """The extension in this file."""
    loader = importlib.machinery.ExtensionFileLoader("rumormill_native", path)
    spec = importlib.util.spec_from_file_location("rumormill_native", path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def routes(paths: list[str]) -> dict[str, Callable[[], object]]:
    """All that is compared, by name."""
    builds = [load(path) for path in paths]
    if not builds:
        import rumormill_native

        builds = [rumormill_native]
    compared: dict[str, Callable[[], object]] = {
        "PyNaCl verify": lambda: crypto_sign_open(SIGNATURE + PAYLOAD, PUBLIC_KEY),
        "PyNaCl sign": lambda: crypto_sign(PAYLOAD, SECRET)[:64],
    }
    for build in builds:
        assert build.verify(PUBLIC_KEY, SIGNATURE, PAYLOAD)
        assert build.sign(SECRET, PAYLOAD) == SIGNATURE
        name = f"native, {build.BACKEND}"
        compared[f"{name} verify"] = lambda b=build: b.verify(PUBLIC_KEY, SIGNATURE, PAYLOAD)  # type: ignore[misc]
        compared[f"{name} sign"] = lambda b=build: b.sign(SECRET, PAYLOAD)  # type: ignore[misc]
    return compared


def cost(call: Callable[[], object]) -> float:
    """Microseconds of one call in this pass."""
    begin = time.thread_time_ns()
    for _ in range(CALLS):
        call()
    return (time.thread_time_ns() - begin) / CALLS / 1000


def main() -> None:
    """Measure and print."""
    compared = routes(sys.argv[1:])
    best = dict.fromkeys(compared, float("inf"))
    for _ in range(PASSES):
        for name, call in compared.items():
            best[name] = min(best[name], cost(call))
    for name, microseconds in best.items():
        print(f"{name:24} {microseconds:6.1f}")


if __name__ == "__main__":
    main()
