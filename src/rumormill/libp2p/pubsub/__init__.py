"""Pubsub without I/O: intake, publishing, queues, subscriptions, and the router's seam."""

from rumormill.libp2p.pubsub.floodsub import FLOODSUB, FloodsubRouter
from rumormill.libp2p.pubsub.inbound.rejections import RejectionLimit
from rumormill.libp2p.pubsub.inbound.replays import AuthorStore
from rumormill.libp2p.pubsub.parameters import PubsubParameters, TopicRules
from rumormill.libp2p.pubsub.part import Part
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.pubsub.randomsub import RANDOMSUB, RandomsubParameters, RandomsubRouter
from rumormill.libp2p.pubsub.router import Admission, PubsubServices, Router
from rumormill.libp2p.pubsub.topics.transforms import DataTransform, SnappyTransform

__all__ = [
    "FLOODSUB", "RANDOMSUB", "Admission", "AuthorStore", "DataTransform", "FloodsubRouter", "Part",
    "Pubsub", "PubsubParameters", "PubsubServices", "RandomsubParameters", "RandomsubRouter",
    "RejectionLimit", "Router", "SnappyTransform",
    "TopicRules",
]  # fmt: skip
