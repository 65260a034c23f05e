"""A command of ours that runs until it is told to end, in a process of its own."""

from __future__ import annotations

from tests.helpers.interop.peer_process import PeerProcess


class OurProcess(PeerProcess):
    """A running command. It takes no commands itself: signals end it."""

    async def kill(self) -> None:
        """End it as SIGKILL does: without a word to anybody."""
        self._process.kill()
        await self.stop()

    async def stop(self) -> None:
        """End it as SIGTERM does."""
        if self._process.returncode is None:
            self._process.terminate()
        await self._process.wait()
        await super().stop()
