"""Topic descriptors: topics that say who may publish on them and who can read them.

* :mod:`.descriptor`: what a topic says of itself, and the topic's id that follows from it;
* :mod:`.edges`, :mod:`.trust`: who trusts whom, and who is trusted by that;
* :mod:`.shared_keys`, :mod:`.epoch_keys`, :mod:`.sealed_data`: who can read;
* :mod:`.private_topics`: the guard that pubsub asks about messages of such topics.

docs/private-topics.md says what each mode protects and what not.
"""

from __future__ import annotations

from rumormill.libp2p.descriptor.descriptor import (
    AuthMode,
    AuthOptions,
    EncryptionMode,
    EncryptionOptions,
    TopicDescriptor,
)

__all__ = ["AuthMode", "AuthOptions", "EncryptionMode", "EncryptionOptions", "TopicDescriptor"]
