"""Which versions of their libraries the test peers are built on, as their folders pin them."""

from __future__ import annotations

import json
import re
import tomllib

from tests.helpers.interop.real_peers import SOURCES

ROOT = SOURCES.parent.parent.parent


def versions(family: str) -> dict[str, str]:
    """For each peer of the family, its libraries in words."""
    return {"libp2p": _libp2p, "bep50": _bep50, "bcos": _bcos, "ndn": _ndn}[family]()


def discovery_versions(way: str) -> dict[str, str]:
    """For each peer that has this way to find others, the library that it is of."""
    node = json.loads((SOURCES / "js" / "package.json").read_text())["dependencies"]
    modules = (SOURCES / "go" / "go.mod").read_text()
    kademlia = _found(r"github.com/libp2p/go-libp2p-kad-dht v(\S+)", modules)
    js, go = {
        "kademlia": (f"@libp2p/kad-dht {node['@libp2p/kad-dht']}", f"kad-dht {kademlia}"),
        "mdns": (f"@libp2p/mdns {node['@libp2p/mdns']}", "its mdns"),
        "rendezvous": (None, None),
    }[way]
    libraries = _libp2p()
    found = {"rust": libraries["rust"]}
    found |= {"js": f"js-libp2p {node['libp2p']}, {js}"} if js else {}
    found |= {"go": f"{libraries['go'].partition(' (')[0]}, {go}"} if go else {}
    return found


def _bcos() -> dict[str, str]:
    modules = (SOURCES / "bcos-go" / "go.mod").read_text()
    packages = (SOURCES / "bcos-java" / "pom.xml").read_text()
    go = _found(r"github.com/FISCO-BCOS/go-sdk v(\S+)", modules)
    java = _found(r"<artifactId>fisco-bcos-java-sdk</artifactId>\s*<version>(\S+?)<", packages)
    return {"go": f"FISCO BCOS go-sdk {go}", "java": f"FISCO BCOS java-sdk {java}"}


def _ndn() -> dict[str, str]:
    requirements = (SOURCES / "ndn-python" / "requirements.txt").read_text()
    node = json.loads((SOURCES / "ndn-forwarder-js" / "package.json").read_text())["dependencies"]
    modules = (SOURCES / "ndn-forwarder-go" / "go.mod").read_text()
    original = _found(r"^ndn-python-repo==(\S+)", requirements)
    library = _found(r"^python-ndn==(\S+)", requirements)
    ndnd = _found(r"github.com/named-data/ndnd v(\S+)", modules)
    return {
        "the original PubSub": f"ndn-python-repo {original} on python-ndn {library}",
        "ours": "the forwarder that is embedded in our nodes",
        "ndnd": f"ndnd {ndnd} (YaNFD)",
        "NDNts": f"@ndn/fw {node['@ndn/fw']}, with a registration of ours",
    }


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
