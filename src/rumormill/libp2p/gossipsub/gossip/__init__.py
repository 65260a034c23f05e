"""What peers tell each other of messages: IHAVE and IWANT (:mod:`gossip`), what they are answered
with (:mod:`message_cache`), who told of a message must send it (:mod:`promises`), and who has it
already (:mod:`dont_want`).
"""
