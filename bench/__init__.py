"""Speed and cost of rumormill, beside other implementations on the same machine.

python -m bench            everything, into bench/results/latest.md and latest.json
python -m bench pair       one publisher, one subscriber
python -m bench mesh       ten nodes that all know each other
python -m bench codec      single parts of our own, in one process
python -m bench gossip     what a heartbeat, a message, a peer and a topic cost a gossipsub node
python -m bench discovery  how 1,000 nodes that know one other find a mesh, in virtual time
python -m bench private    what topics with descriptors cost a message
python -m bench capture    what keeping a spool costs a node
python -m bench import     foreign traces into a spool
python -m bench source     rows that Spark reads, beside Parquet and Kafka
python -m bench latency    how late Spark has them, beside Kafka
python -m bench scale      the overlay of BEP 50 with 1,000 and 10,000 nodes, in virtual time
python -m bench krpc       a node of a bep50 overlay: puts and answers, beside libtorrent
python -m bench bcos       two nodes and two SDKs of bcos, beside the same packets over bare TLS
python -m bench ndn        messages over ndn forwarders, ours and others
python -m bench amplification   what a forged source address brings to its owner
python -m bench siege      a node under attack, beside rust, js and libtorrent
python -m bench tables     trace events from a spool to gold, all tables
python -m bench minutes    what a minute of events costs, the first and the 300th
python -m bench first-run  how long a user waits for pipeline run --once
python -m bench questions  questions to silver, beside DuckDB
python -m bench profile    where the time goes
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"

# The programs that are measured, and what starts them, are those of the tests.
_root = str(ROOT)
if _root not in sys.path:
    sys.path.insert(0, _root)
