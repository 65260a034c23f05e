"""Work in an order: each piece when those before it are done, a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from rumormill.core.errors import ConfigError

THREADS = 4
"""Small tables are mostly waiting for commits: several at once halve the time."""

Work = Callable[[], None]


def run_in_order(pieces: Mapping[str, tuple[Collection[str], Work]]) -> None:
    """Do every piece after those that it names; the first error ends it.

    >>> done = []
    >>> run_in_order({"b": (["a"], lambda: done.append("b")), "a": ([], lambda: done.append("a"))})
    >>> done
    ['a', 'b']
    """
    done: set[str] = set()
    waiting = dict(pieces)
    running: dict[Future[None], str] = {}
    with ThreadPoolExecutor(THREADS, thread_name_prefix="tables") as pool:
        while waiting or running:
            ready = [
                name
                for name, (after, _) in waiting.items()
                if all(each in done or each not in pieces for each in after)
            ]
            if not ready and not running:
                raise ConfigError("gold", f"these tables wait for each other: {', '.join(waiting)}")
            for name in ready:
                running[pool.submit(waiting.pop(name)[1])] = name
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                done.add(running.pop(future))
                if future.exception() is not None:
                    waiting.clear()  # what runs is waited for, nothing more begins
                    future.result()
