"""What a random trace is to have in it, and Hypothesis' choice of that.

Hypothesis chooses the shape and a seed, and a seeded generator the events: a trace of hundreds of
events is more than Hypothesis can choose one by one, but what is in a trace that fails can still be
made less and less.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st


@dataclass(frozen=True)
class Shape:
    """The features of a trace."""

    seed: int = 0
    promises: tuple[str | None, ...] = ("every",)
    """One network each; None: it tells nothing of itself."""
    nodes: int = 4
    topics: int = 2
    messages: int = 10
    """Of each network."""
    minutes: int = 8
    restarts: bool = False
    """Nodes end, with a word or without, and come back."""
    meshes: bool = False
    direct: bool = False
    """Messages are not passed on, and peers say so."""
    losses: bool = False
    strangers: bool = False
    """Publications are missing, come twice, or are too far away from the copies."""
    unicast: bool = False
    coarse: bool = False
    """Times are rounded, so that many things happen at once."""
    wrong_clocks: bool = False
    noise: int = 0
    """Events of other kinds: packets, drops, rejections."""
    collisions: bool = False


def shapes() -> st.SearchStrategy[Shape]:
    """Small ones, each rich in something."""
    promise = st.sampled_from([None, "every", "newest", "one"])
    return st.builds(
        Shape,
        seed=st.integers(0, 2**32),
        promises=st.lists(promise, min_size=1, max_size=4).map(tuple),
        nodes=st.integers(2, 7),
        topics=st.integers(1, 3),
        messages=st.integers(1, 25),
        minutes=st.integers(1, 20),
        restarts=st.booleans(),
        meshes=st.booleans(),
        direct=st.booleans(),
        losses=st.booleans(),
        strangers=st.booleans(),
        unicast=st.booleans(),
        coarse=st.booleans(),
        wrong_clocks=st.booleans(),
        noise=st.integers(0, 40),
        collisions=st.booleans(),
    )


EVERYTHING = Shape(
    seed=2026,
    promises=(None, "every", "newest", "one"),
    nodes=7,
    topics=3,
    messages=25,
    minutes=20,
    restarts=True,
    meshes=True,
    losses=True,
    strangers=True,
    unicast=True,
    wrong_clocks=True,
    noise=60,
    collisions=True,
)
"""All features at once, but for those that would hide others."""

LARGE = Shape(
    seed=15,
    promises=("every", "newest", "one", None),
    nodes=20,
    topics=4,
    messages=150,
    minutes=20,
    restarts=True,
    meshes=True,
    losses=True,
    strangers=True,
    unicast=True,
    wrong_clocks=True,
    noise=1000,
    collisions=True,
)
