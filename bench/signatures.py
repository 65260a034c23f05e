"""What one signature costs in this process, right now: the yardstick for everything else.

The cheapest way that each library has, with a message of the very size. A pass is short and the
cheapest one counts, because whatever disturbs a pass can only make it longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from nacl.bindings import crypto_sign, crypto_sign_open, crypto_sign_seed_keypair

CALLS = 40
ENVELOPE = 102
"""Bytes that are signed besides the data: author, number, topic, tags and the prefix."""

Costs = dict[str, float]


def measure(size: int, passes: int) -> Costs:
    """Microseconds of CPU of each call, for messages of ``size`` bytes."""
    routes = _routes(size)
    best = dict.fromkeys(routes, float("inf"))
    for _ in range(passes):
        for name, call in routes.items():
            best[name] = min(best[name], _cost(call))
    return best


def _routes(size: int) -> dict[str, Callable[[], object]]:
    payload = bytes(size + ENVELOPE)
    public_key, secret = crypto_sign_seed_keypair(b"s" * 32)
    signature = crypto_sign(payload, secret)[:64]
    signed = signature + payload
    routes: dict[str, Callable[[], object]] = {
        "pynacl_verify": lambda: crypto_sign_open(signed, public_key),
        "pynacl_sign": lambda: crypto_sign(payload, secret),
    }
    try:
        import rumormill_native
    except ImportError:
        return routes
    return {
        **routes,
        "native_verify": lambda: rumormill_native.verify(public_key, signature, payload),
        "native_sign": lambda: rumormill_native.sign(secret, payload),
    }


def _cost(call: Callable[[], object]) -> float:
    begin = time.thread_time_ns()
    for _ in range(CALLS):
        call()
    return (time.thread_time_ns() - begin) / CALLS / 1000
