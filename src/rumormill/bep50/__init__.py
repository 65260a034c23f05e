"""BEP 50: publish/subscribe on overlays of the BitTorrent DHT, one for each topic."""
