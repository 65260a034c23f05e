"""Every asynchronous test of this folder runs on asyncio's own loop and on uvloop."""

from __future__ import annotations

from tests.helpers.live.loops import no_callback_fails, pytest_asyncio_loop_factories, watch_loop
from tests.helpers.live.names import names

__all__ = ["names", "no_callback_fails", "pytest_asyncio_loop_factories", "watch_loop"]
