"""The bep50 family: queries beside libtorrent, the overlay at scale, amplification."""
