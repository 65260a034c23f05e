"""Named Data Networking: publish and subscribe by notify Interests and message Data."""
