"""Sockets in words: why something failed, and where we can be reached."""

from __future__ import annotations

import contextlib
import errno
import socket

REASONS = {
    errno.ECONNREFUSED: "connection_refused",
    errno.ECONNRESET: "connection_reset",
    errno.ECONNABORTED: "connection_aborted",
    errno.EPIPE: "connection_reset",
    errno.ENOTCONN: "connection_reset",
    errno.ETIMEDOUT: "timed_out",
    errno.EHOSTUNREACH: "host_unreachable",
    errno.ENETUNREACH: "network_unreachable",
    errno.EADDRINUSE: "address_already_in_use",
    errno.EADDRNOTAVAIL: "address_not_available_on_this_machine",
    errno.EACCES: "permission_denied",
    errno.EPERM: "permission_denied",
    errno.EAFNOSUPPORT: "address_family_not_supported",
    errno.EMFILE: "too_many_open_files",
    errno.ENFILE: "too_many_open_files",
    errno.EINVAL: "invalid_address",
    errno.ENOENT: "no_such_file",
    errno.ENOTDIR: "no_such_file",
    errno.ENAMETOOLONG: "path_too_long",
    errno.EROFS: "read_only_file_system",
}

# Any address outside this machine: connecting a datagram socket sends nothing, and tells which
# of our own addresses would be used. These are reserved for documentation.
OUTSIDE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}


def words_for(error: BaseException) -> str:
    """What went wrong, for a sentence.

    >>> words_for(ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"))
    'connection refused'
    """
    return reason_of(error).replace("_", " ")


def reason_of(error: BaseException) -> str:
    """A short name for what went wrong, for counters.

    >>> reason_of(ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"))
    'connection_refused'
    >>> reason_of(socket.gaierror(socket.EAI_NONAME, "Name or service not known"))
    'name_not_found'
    """
    if isinstance(error, socket.gaierror | UnicodeError):
        return "name_not_found"
    if isinstance(error, TimeoutError):
        return "timed_out"
    if isinstance(error, OSError) and error.errno is not None:
        known = REASONS.get(error.errno)
        return known or errno.errorcode.get(error.errno, "os_error").lower()
    return "connection_failed"


def own_hosts(host: str) -> list[str]:
    """The addresses by which others may reach a socket that listens at ``host``.

    >>> own_hosts("127.0.0.1"), own_hosts("0.0.0.0")[0]
    (['127.0.0.1'], '127.0.0.1')
    """
    if host not in ("0.0.0.0", "::"):
        return [host]
    family = socket.AF_INET6 if host == "::" else socket.AF_INET
    hosts = ["::1" if host == "::" else "127.0.0.1"]
    outward = _outward(family)
    if outward is not None and outward not in hosts:
        hosts.append(outward)
    return hosts


def _outward(family: socket.AddressFamily) -> str | None:
    """Our address towards others, if there is a way out."""
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((OUTSIDE[family], 9))
        return str(probe.getsockname()[0])
    return None
