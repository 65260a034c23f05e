from __future__ import annotations

from tests.helpers.live.loops import no_callback_fails, pytest_asyncio_loop_factories, watch_loop
from tests.helpers.node.serving import serving

__all__ = ["no_callback_fails", "pytest_asyncio_loop_factories", "serving", "watch_loop"]
