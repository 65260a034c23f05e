"""What names, addresses and public keys say, for ``rumormill id``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from rumormill.core.errors import LocalProtocolError
from rumormill.live.family import Description
from rumormill.ndn.faces.addresses import SCHEMES, canonical, is_local, read_address
from rumormill.ndn.live.key_file import load_public_key
from rumormill.ndn.security.keys import PublicKey
from rumormill.ndn.wire.name import components, name_from_uri, name_tlv, name_to_uri
from rumormill.ndn.wire.notify import notify_name

PUBLIC: Final = (".pub", ".ndncert", ".cert")
"""Ends of the names of files with a public key."""

KEY_TEXT: Final = re.compile(r"ndn-[a-z0-9]+ /")

FILES: Final = re.compile(r"\.(json|key|pem|crt|cert|ndncert|pub|toml)$", re.IGNORECASE)
"""Ends of what looks like a file though it is none that is there: it was mistyped."""


def describe_text(text: str) -> Description | None:
    """A name, an address or a public key; None if it is none of these.

    What begins with ``ndn:`` is a name. What begins with / is one, unless it may be meant for a
    file: there is one, or the folder that it would be in, or it is called like one.
    """
    if text.partition("://")[0] in SCHEMES and "://" in text:
        return _address(text)
    if KEY_TEXT.match(text):
        return _key(load_public_key(text))
    if text.startswith("ndn:"):
        return _name(text)
    path = Path(text)
    if _exists(path):
        return _key(load_public_key(path), text) if path.suffix in PUBLIC else None
    file = FILES.search(text) or _exists(Path(*path.parts[:2]))
    return _name(text) if text.startswith("/") and not file else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # what is too long for a path is none
        return False


def _address(text: str) -> Description:
    place = read_address(text)
    what = {"path": place.host} if place.scheme == "unix" else _host(place.host, place.port)
    fields = {"address": canonical(text), "transport": place.scheme, **what}
    return Description("address", {**fields, "on_this_machine": is_local(text)})


def _host(host: str, port: int) -> dict[str, str | int]:
    return {"host": host, "port": port}


def _name(text: str) -> Description:
    name = name_from_uri(text)
    if not name:
        raise LocalProtocolError("/ is the root, of which all names are below")
    return Description("name", {
        "name": name_to_uri(name),
        "components": len(components(name)),
        "tlv": name_tlv(name).hex(),
        "subscribers_register": name_to_uri(notify_name(name)),
    })  # fmt: skip


def _key(key: PublicKey, file: str | None = None) -> Description:
    fields = {"id": key.uri, "type": f"{key.kind} (public)", "public_key": key.text}
    return Description("key", fields if file is None else {**fields, "file": file})
