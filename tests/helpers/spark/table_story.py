"""One small network whose every figure can be worked out by hand, and its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rumormill.pipeline.tables import Silver

STORY = """
    0.0     a  subscribed       @news
    0.0     b  subscribed       @news
    0.0     c  subscribed       @news
    0.0     d  subscribed       @news

    1.0     a  grafted          @news  <b  by=us
    1.0     a  grafted          @news  <c  by=us
    1.0     b  grafted          @news  <a  by=peer
    1.0     b  grafted          @news  <c  by=us
    1.0     c  grafted          @news  <a  by=peer
    1.0     c  grafted          @news  <b  by=peer
    1.0     c  grafted          @news  <d  by=us
    1.0     d  grafted          @news  <c  by=peer

    10.000  a  published        @news  #m1  size=100
    10.000  a  delivered        @news  #m1  size=100
    10.010  b  delivered        @news  #m1  <a  size=100
    10.020  c  delivered        @news  #m1  <a  size=100
    10.025  c  duplicate        @news  #m1  <b
    10.030  b  duplicate        @news  #m1  <c
    10.040  d  delivered        @news  #m1  <c  size=100
    10.050  a  duplicate        @news  #m1  <b

    20.000  b  published        @news  #m2  size=200
    20.000  b  delivered        @news  #m2  size=200
    20.030  a  delivered        @news  #m2  <b  size=200
    21.000  c  asked            #m2  <a
    21.100  c  delivered        @news  #m2  <a  size=200

    30.000  b  rejected         @news  #x1  <d  reason=invalid_signature
    31.000  c  ignored          @news  <d  reason=own_message
    32.000  a  dropped          <b  what=message  reason=queue_full  count=3
    33.000  a  packet_sent      <b  size=1000  messages=2  ihave=1
    34.000  b  packet_received  <a  size=1000  messages=2  ihave=1
    35.000  b  packet_sent      <c  size=1120  messages=1  iwant=4

    65.000  d  unsubscribed     @news
    65.000  d  pruned           @news  <c  by=us  reason=leave
    65.000  c  pruned           @news  <d  by=peer  reason=pruned

    70.000  a  published        @news  #m3  size=50
    70.000  a  delivered        @news  #m3  size=50
    70.005  b  delivered        @news  #m3  <a  size=50
    70.015  c  delivered        @news  #m3  <b  size=50
    70.030  d  delivered        @news  #m3  <c  size=50

    80.000  c  delivered        @news  #m9  <d  size=10  sender=z
    90.000  a  packet_sent      <c
"""
"""m1 reaches everybody; m2 reaches c by gossip and d not at all; m3 reaches d, which has left; of
m9 nobody saw the publication."""


@dataclass(frozen=True)
class Story:
    """What the story becomes."""

    trace: DataFrame
    silver: Silver
    gold: dict[str, DataFrame]
