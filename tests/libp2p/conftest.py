"""What the tests of the libp2p family share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rumormill.core.ed25519 import native_in_use, use_native
from tests.helpers.interop.real_peers import missing_peer


# For a whole module: hypothesis would not take a fixture that is new for every test.
@pytest.fixture(scope="module", params=["PyNaCl", "native"])
def ed25519_route(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the tests twice: signatures by libsodium, and by the optional extension."""
    before = native_in_use()
    if use_native(request.param == "native") is not (request.param == "native"):
        missing_peer("rumormill-native is not installed: make native")
    yield request.param
    use_native(before)
