"""A node of libtorrent on loopback with its own limits, for the siege.

python -m bench.siege.libtorrent_node

Says where it is when it is ready, and ends with its stdin.
"""

from __future__ import annotations

import json
import sys
import time

import libtorrent

# Its rate limits are its defence, and stay as they are.
SETTINGS: libtorrent.settings_pack = {
    "listen_interfaces": "127.0.0.1:0",
    "enable_dht": True,
    "enable_lsd": False,
    "enable_upnp": False,
    "enable_natpmp": False,
    "dht_bootstrap_nodes": "",
    "dht_restrict_routing_ips": False,
    "dht_restrict_search_ips": False,
    "alert_mask": 0,
}


def main() -> None:
    """Serve until stdin ends."""
    session = libtorrent.session(SETTINGS)
    while not session.listen_port():
        time.sleep(0.05)
    time.sleep(0.3)  # its DHT starts a little later, and says nothing when it has
    print(json.dumps({"address": f"127.0.0.1:{session.listen_port()}"}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
