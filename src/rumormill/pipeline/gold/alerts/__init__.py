"""Alerts: partition, eclipse, censorship, spam, misbehaviour, sybils."""

from rumormill.pipeline.gold.alerts.alerts import alerts, alerts_with
from rumormill.pipeline.gold.alerts.parameters import AlertParameters

__all__ = ["AlertParameters", "alerts", "alerts_with"]
