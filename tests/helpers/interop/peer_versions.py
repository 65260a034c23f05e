"""Which versions of their libraries the test peers are built on, as their folders pin them."""

from __future__ import annotations

import json
import re
import tomllib

from tests.helpers.interop.real_peers import SOURCES

ROOT = SOURCES.parent.parent.parent


def versions(family: str) -> dict[str, str]:
    """For each peer of the family, its libraries in words."""
    return _libp2p() if family == "libp2p" else _bep50()


def _bep50() -> dict[str, str]:
    node = json.loads((SOURCES / "dht" / "package.json").read_text())["dependencies"]
    pinned = _found(r"^libtorrent==(\S+)", (ROOT / "requirements" / "dev.txt").read_text())
    return {
        "libtorrent": f"libtorrent {pinned} (its binding for Python)",
        "bittorrent-dht": f"bittorrent-dht {node['bittorrent-dht']} (Node)",
    }


def _libp2p() -> dict[str, str]:
    node = json.loads((SOURCES / "js" / "package.json").read_text())["dependencies"]
    cargo = tomllib.loads((SOURCES / "rust" / "Cargo.toml").read_text())["dependencies"]
    requirements = (SOURCES / "python" / "requirements.txt").read_text()
    modules = (SOURCES / "go" / "go.mod").read_text()
    py = _found(r"^libp2p==(\S+)", requirements)
    go = _found(r"github.com/libp2p/go-libp2p v(\S+)", modules)
    go_pubsub = _found(r"github.com/libp2p/go-libp2p-pubsub v(\S+)", modules)
    return {
        "rust": f"rust-libp2p {cargo['libp2p']['version'].lstrip('=')}",
        "js": (
            f"js-libp2p {node['libp2p']} (gossipsub {node['@libp2p/gossipsub']}, "
            f"floodsub {node['@libp2p/floodsub']})"
        ),
        "py": f"py-libp2p {py}",
        "go": f"go-libp2p {go} (pubsub {go_pubsub})",
    }


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    assert match is not None, f"no {pattern} in {text[:100]}"
    return match[1]
