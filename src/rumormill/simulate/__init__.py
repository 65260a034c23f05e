"""A network in virtual time: the machines of the live node, on links that we make up.

Everything happens in one thread and in no real time: the clock jumps from one event to the next.
Equal seeds give equal traces, byte for byte, on every computer. Use it to test your own machine,
or your own code around ours.

>>> from rumormill.core.machine import Publish
>>> from rumormill.simulate import Link, Simulation, metrics, topology
>>> from rumormill.simulate.toys import Flood

Ten nodes in a ring, 20 ms apart:

>>> simulation = Simulation(seed=7)
>>> names = [f"node-{number}" for number in range(10)]
>>> for name in names:
...     simulation.add_node(name, Flood(name))
>>> for a, b in topology.ring(names):
...     simulation.connect(a, b, Link(latency=0.02))

One of them publishes, and all others have it within a tenth of a second:

>>> _ = simulation.command("node-0", Publish(("weather",), b"rain at noon"))
>>> simulation.run_until(0.1)
>>> [message.text for message in simulation.deliveries["node-5"]]
['rain at noon']
>>> metrics.delivery_ratio(simulation.trace, receivers=9)
1.0

Now the network falls apart, and what is published on one side stays there until it heals:

>>> simulation.partition([names[:5]])
>>> _ = simulation.command("node-0", Publish(("weather",), b"snow"))
>>> simulation.run_until(5.0)
>>> len(simulation.deliveries["node-4"]), len(simulation.deliveries["node-5"])
(2, 1)
>>> simulation.heal()
>>> simulation.run_until(6.0)
>>> len(simulation.deliveries["node-5"])
2

Machines speak in packets to peers, as these do, in bytes on transports, or in datagrams: the
argument ``level`` says which. Datagrams need no connection, only an address, and the script says
who knows whose:

>>> from rumormill.core.machine import PeerJoined
>>> simulation = Simulation(seed=7, level="datagrams", link=Link(latency=0.02, loss=0.5))
>>> simulation.add_node("a", Flood("a"), address="10.0.0.1:6881")
>>> simulation.add_node("b", Flood("b"), address="10.0.0.2:6881")
>>> _ = simulation.command("a", PeerJoined("10.0.0.2:6881", "udp"))
>>> for _ in range(100):
...     _ = simulation.command("a", Publish(("weather",), b"hail"))
>>> simulation.run_for(1.0)
>>> simulation.delivery_counts["b"] + simulation.drops["lost"]
100
"""

from __future__ import annotations

from rumormill.simulate import metrics, topology
from rumormill.simulate.churn import Churn
from rumormill.simulate.clock import Clock, LivelockError
from rumormill.simulate.levels import DatagramLevelInput, PeerLevelInput, TransportLevelInput
from rumormill.simulate.link import Link
from rumormill.simulate.node import UnknownEffectError
from rumormill.simulate.record import HEALED, NODE_CRASHED, NODE_RESTARTED, PARTITIONED
from rumormill.simulate.simulation import Simulation

__all__ = [
    "HEALED",
    "NODE_CRASHED",
    "NODE_RESTARTED",
    "PARTITIONED",
    "Churn",
    "Clock",
    "DatagramLevelInput",
    "Link",
    "LivelockError",
    "PeerLevelInput",
    "Simulation",
    "TransportLevelInput",
    "UnknownEffectError",
    "metrics",
    "topology",
]
