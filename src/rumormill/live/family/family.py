"""A family of networks: the one object that everything generic is built from.

``rumormill.open``, the command line, the detection of keys, the pages of settings and the demo ask
a :class:`Family` and nothing else. A family is found by the entry point group
``rumormill.families`` (see :mod:`rumormill.live.family.families`), so that a distribution of
anybody can bring one::

    class CarrierPigeons(Family):
        '''Messages by pigeon.'''

        name = "pigeons"
        networks = ("pigeon",)
        listen = "loft:0"

        def make(self, network, settings):
            from pigeons.network import PigeonNetwork
            return PigeonNetwork(network, settings)

    FAMILY = CarrierPigeons()

Making the object must be cheap: what a family needs is imported in the methods that need it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from rumormill.core.errors import ConfigError
from rumormill.core.topic import check_topic
from rumormill.live.family.attacks import AttackOutcome, AttackProgress, AttackWish
from rumormill.live.family.demo import NOTHING, DemoAct, SecretScene
from rumormill.live.family.descriptions import (
    Description,
    FolderKey,
    KeyOption,
    ScoreAdvice,
    SettingsPage,
)
from rumormill.live.family.topic_files import DescribedTopic, TopicWish, TrustWish

if TYPE_CHECKING:
    from rumormill.live.configuration.parameters import LiveParameters
    from rumormill.live.configuration.setting_keys import Key
    from rumormill.live.network import Network


class Settings(Protocol):
    """What the settings of every family have; a family adds its own parts."""

    @property
    def live(self) -> LiveParameters:
        """Where to listen, whom to call, where the key is."""
        ...


class Family(ABC):
    """One family of networks.

    The class attributes and methods below are all that the rest of the house knows of it; most
    have a default that fits a family without keys or strange topics.
    """

    name: ClassVar[str]
    """What the family is called, such as the name of its folder."""
    networks: ClassVar[tuple[str, ...]]
    """The networks that a user can open, by the names that he writes."""
    order: ClassVar[int] = 100
    """The place in lists. Commands that are not told which network speak the first of the first."""

    # ---- what must be installed

    packages: ClassVar[tuple[str, ...]] = ()
    """Modules that it cannot do without."""
    extra: ClassVar[str] = ""
    """What ``pip`` installs to bring them, such as ``rumormill[EXTRA]``."""

    # ---- settings, and the network itself

    @abstractmethod
    def make(self, network: str, settings: Any) -> Network:
        """A network that is not started yet; ``settings`` are those of :meth:`read_settings`."""

    def known_keys(self, network: str) -> dict[str, Key]:
        """Every key of the network that can be set, by name."""
        from rumormill.live.configuration.parameters import LiveParameters
        from rumormill.live.configuration.setting_keys import keys_of

        return keys_of(LiveParameters)

    def read_settings(self, network: str, values: Mapping[str, Any]) -> Settings:
        """The settings as :meth:`make` wants them; ``values`` have known keys only."""
        from rumormill.live.configuration.parameters import LiveParameters, PlainSettings

        return PlainSettings(LiveParameters(**values))

    # ---- addresses and topics, as the command line takes them

    listen: ClassVar[str] = ""
    """Where a node listens that was not told: any free port, reachable from this machine only."""
    listen_example: ClassVar[str] = ""
    """An address to listen at, for the help."""
    peer_example: ClassVar[str] = ""
    """The address of a node elsewhere, for the help."""
    topics_of_keys: ClassVar[bool] = False
    """Whether a topic is made of the id of a key: then ``keygen`` prints that word alone."""
    topic_help: ClassVar[str] = ""
    """How a topic is written, where it is more than a name."""

    def default_listen(
        self, settings: Mapping[str, Any], peers: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Where a node with these settings listens that was not told; nowhere, if it only calls.

        ``peers``: whom a node calls that ends with its command; others may want to reach the rest.
        """
        return (self.listen,)

    caller: ClassVar[Mapping[str, Any]] = NOTHING
    """Settings of a node that listens nowhere."""

    patient: ClassVar[bool] = False
    """Whether nodes know beforehand whom they are to be connected to: a lasting node that finds
    nobody there yet is the first of them, and goes on."""

    def check_address(self, address: str) -> None:  # noqa: B027 - one that takes all is fine
        """Raise :class:`LocalProtocolError` for what is no address of this family."""

    def topic(self, text: str) -> str:
        """The topic in its one true form; :class:`LocalProtocolError` for what is no topic."""
        return check_topic(text)

    def describe(self, text: str) -> Description | None:
        """What an address or a topic says, or a file or folder that only this family can read;
        None if it does not look like one of this family.

        Raises :class:`LocalProtocolError` for one that looks like it and is wrong.
        """
        return None

    # ---- keys

    key_types: ClassVar[tuple[str, ...]] = ()
    """What ``"type"`` says in the key files of this family."""
    key_help: ClassVar[str] = ""
    """What the key is for, where it is not the node's identity."""

    key_settings: ClassVar[Mapping[str, str]] = NOTHING
    """What ``keygen --set`` takes of a key that is one file, and what each of it says."""

    def create_key(self, path: Path, settings: Mapping[str, str] = NOTHING) -> Mapping[str, Any]:
        """Write a new key to ``path``, which must not exist yet (:class:`FileExistsError`).

        ``settings`` are of :attr:`key_settings`. Returns what everyone may know of the key, its
        ``id`` first.
        """
        raise ConfigError("network", f"the networks of {self.name} have no keys")

    def describe_key(self, path: Path) -> Mapping[str, Any]:
        """What everyone may know of the key in a file of :attr:`key_types`, its ``id`` first."""
        raise ConfigError("network", f"the networks of {self.name} have no keys")

    def keygen_options(self, nodes: int) -> tuple[str, ...]:
        """What ``keygen`` is told so that there is an identity for each of so many nodes."""
        return ()

    def identity_options(self, made: Path, number: int) -> tuple[str, ...]:
        """By which options a node is who ``keygen`` made; ``number`` where it made several."""
        return ("--key-file", str(made))

    key_options: ClassVar[tuple[KeyOption, ...]] = ()
    """How many of what ``keygen`` makes. A family that has any makes a folder of keys, by
    :meth:`create_keys`, where others make a file."""

    def create_keys(self, folder: Path, counts: Mapping[str, int]) -> Sequence[FolderKey]:
        """Make as many keys as ``counts`` says of each of :attr:`key_options`.

        What is in the folder stays as it is, and what is missing is added. Returns all of them.
        """
        raise ConfigError("network", f"the networks of {self.name} have no folders of keys")

    # ---- topics that have a file

    topic_file_help: ClassVar[str] = ""
    """What a topic's file says, where topics have such."""

    def load_topic(self, path: Path) -> DescribedTopic:
        """The topic of a file, with what is beside it; :class:`ConfigError` if it is none."""
        raise self._no_topic_files()

    def create_topic(self, wish: TopicWish) -> Mapping[str, Any]:
        """Write the files of a new topic, which must not exist yet (:class:`FileExistsError`).

        Returns what everyone may know of it, its ``id`` first.
        """
        raise self._no_topic_files()

    def describe_topic(self, path: Path) -> Mapping[str, Any]:
        """What everyone may know of the topic of a file, its ``id`` first."""
        raise self._no_topic_files()

    def rotate_topic(self, path: Path) -> Mapping[str, Any]:
        """Put the next shared key of a topic into use; what is known of it then."""
        raise self._no_topic_files()

    def change_trust(self, wish: TrustWish) -> Mapping[str, Any]:
        """Sign a word on a peer into a topic's file, from which nodes tell it on."""
        raise self._no_topic_files()

    def _no_topic_files(self) -> ConfigError:
        return ConfigError("topic_file", f"topics of {self.name} have no files")

    # ---- publishing from the command line

    replaces: ClassVar[bool] = False
    """Whether ``publish`` takes ``cas``, the number of the value that a new one replaces."""
    publisher_options: ClassVar[str] = ""
    """Options that a publisher has to give beside ``--peer``, for the line that ``sub`` shows."""
    visitor: ClassVar[Mapping[str, Any]] = NOTHING
    """Settings of a publisher that nobody can reach, and that is gone soon."""

    def finds_peers(self, settings: Mapping[str, Any]) -> bool:
        """Whether a node with these settings meets others though it was given no address."""
        return False

    # ---- scores

    def score_advice(
        self, network: str, topic: str, rate: float, mesh_size: int, steady: bool
    ) -> ScoreAdvice | None:
        """What conduct should be worth on a topic with ``rate`` messages a second.

        None where peers are not scored; :class:`ConfigError` names what cannot be.
        """
        return None

    # ---- attacks

    def attack(
        self, network: str, wish: AttackWish, tell: AttackProgress
    ) -> Iterator[AttackOutcome]:
        """Attack the network in virtual time; :class:`ConfigError` where no attacks are known."""
        raise ConfigError("network", f"there are no attacks on {network} here")

    # ---- documentation and demo

    def settings_pages(self) -> tuple[SettingsPage, ...]:
        """The pages that ``make docs`` writes."""
        return ()

    def acts(self) -> tuple[DemoAct, ...]:
        """What the family shows in the demo."""
        return ()

    def secret_scene(self, network: str) -> SecretScene | None:
        """A private topic that the demo shows after the acts of the network, if there is such."""
        return None
