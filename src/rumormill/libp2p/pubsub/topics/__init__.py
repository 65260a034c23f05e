"""Topics: those we take part in (:mod:`own_topics`), who listens to what (:mod:`subscriptions`),
and what holds on each (:mod:`rules`): how ids are made (:mod:`message_id`), how data is packed
(:mod:`transforms`).
"""
