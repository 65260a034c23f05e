"""What a family of networks is, and how the installed ones are found."""

from rumormill.live.family.attacks import AttackOutcome, AttackProgress, AttackWish
from rumormill.live.family.demo import NOTHING, DemoAct, SecretScene
from rumormill.live.family.descriptions import (
    Description,
    FolderKey,
    KeyOption,
    ScoreAdvice,
    SettingsPage,
)
from rumormill.live.family.family import Family, Settings
from rumormill.live.family.topic_files import DescribedTopic, TopicWish, TrustWish

__all__ = [
    "NOTHING",
    "AttackOutcome",
    "AttackProgress",
    "AttackWish",
    "DemoAct",
    "DescribedTopic",
    "Description",
    "Family",
    "FolderKey",
    "KeyOption",
    "ScoreAdvice",
    "SecretScene",
    "Settings",
    "SettingsPage",
    "TopicWish",
    "TrustWish",
]
