"""The way in: from the bytes of a stream (:mod:`inbox`) to a delivery or the reason why not
(:mod:`intake`). What is known of messages: :mod:`seen`, :mod:`recent`, :mod:`replays`, and under
check, :mod:`checks`. What peers pay for it: :mod:`toll`, by :mod:`prices`; :mod:`rejections` and
the :mod:`blacklist`.
"""
