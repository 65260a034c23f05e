"""The Go SDK of FISCO BCOS as a test peer: ``tests/interop/peers/bcos-go``.

Built once for each version of its sources, into the cache outside the tree.
"""

from __future__ import annotations

from pathlib import Path

from tests.helpers.interop import go_peer
from tests.helpers.interop.bcos_sdk import SdkClient, SdkProcess

FOLDER = "bcos-go"


class GoSdk(SdkProcess):
    """A process with clients on the Go SDK."""

    language = FOLDER

    async def connect_by_client(
        self, name: str, address: str, certificates: Path, chain: int = 1
    ) -> SdkClient:
        """Connect by the SDK's package client, which asks the node more than conn does."""
        more = {"package": "client", "chain_id": chain}
        return await self.connect(name, address, certificates, **more)


def built_program() -> Path:
    """The program, compiled; skips or fails the test if there is no way."""
    # Without a C compiler the SDK's curves are in Go.
    return go_peer.built(FOLDER, {"CGO_ENABLED": "0"})
