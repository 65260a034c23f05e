"""A node of libtorrent on loopback, for ``bench krpc``.

python -m bench.bep50.krpc_libtorrent NEIGHBOUR ...

Says where it is when it is ready, and ends with its stdin.
"""

from __future__ import annotations

import json
import sys
import time

import libtorrent

# Without these it answers 5 queries a second of one address, and has one node of a machine.
SETTINGS: libtorrent.settings_pack = {
    "listen_interfaces": "127.0.0.1:0",
    "enable_dht": True,
    "enable_lsd": False,
    "enable_upnp": False,
    "enable_natpmp": False,
    "dht_bootstrap_nodes": "",
    "dht_restrict_routing_ips": False,
    "dht_restrict_search_ips": False,
    "dht_block_ratelimit": 100_000_000,
    "dht_upload_rate_limit": 1_000_000_000,
    "alert_mask": 0,
}


def main() -> None:
    """Serve until stdin ends."""
    session = libtorrent.session(SETTINGS)
    while not session.listen_port():
        time.sleep(0.05)
    time.sleep(0.3)  # its DHT starts a little later, and says nothing when it has
    for neighbour in sys.argv[1:]:
        host, port = neighbour.rsplit(":", 1)
        session.add_dht_node((host, int(port)))
    print(json.dumps({"address": f"127.0.0.1:{session.listen_port()}"}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
