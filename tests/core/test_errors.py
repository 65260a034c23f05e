"""Errors are sorted by who is at fault."""

from __future__ import annotations

import pytest

from rumormill.core import errors


@pytest.mark.parametrize(
    "error",
    [
        errors.ConfigError("D", "must be positive"),
        errors.LocalProtocolError("wrong use"),
        errors.RemoteProtocolError("bad_frame"),
        errors.ConnectError("nobody there"),
        errors.NotReadyError("nobody listens"),
    ],
)
def test_everything_raised_on_purpose_has_one_root(error: Exception) -> None:
    assert isinstance(error, errors.RumormillError)


def test_what_our_caller_did_is_never_taken_for_what_a_peer_did() -> None:
    assert not issubclass(errors.RemoteProtocolError, errors.LocalProtocolError)
    assert not issubclass(errors.LocalProtocolError, errors.RemoteProtocolError)
    for kind in (errors.ClosedError, errors.MessageTooLargeError, errors.RejectedError):
        assert issubclass(kind, errors.LocalProtocolError)


def test_a_wrong_configuration_names_its_key() -> None:
    error = errors.ConfigError("D_low", "must not be above D (7 > 6)")
    assert (error.key, error.problem) == ("D_low", "must not be above D (7 > 6)")
    assert str(error) == "D_low: must not be above D (7 > 6)"


def test_a_message_that_is_too_large_tells_both_sizes() -> None:
    error = errors.MessageTooLargeError(size=11, limit=10)
    assert (error.size, error.limit) == (11, 10)
    assert "11 bytes" in str(error)
    assert "at most 10" in str(error)


def test_a_fault_of_a_peer_has_a_short_reason_and_a_detail() -> None:
    error = errors.RemoteProtocolError("frame_too_large", "9 MB")
    assert (error.reason, error.detail, str(error)) == (
        "frame_too_large",
        "9 MB",
        "frame_too_large: 9 MB",
    )
    assert str(errors.RemoteProtocolError("bad_key")) == "bad_key"
