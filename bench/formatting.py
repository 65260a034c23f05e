"""Numbers as readers like them."""

from __future__ import annotations


def number(value: float | None, digits: int = 3) -> str:
    """So many digits, or all that stand before the point.

    >>> number(12345.6), number(56.78), number(1.0), number(0.0123), number(50), number(None)
    ('12,346', '56.8', '1.00', '0.01', '50', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    whole = len(str(int(abs(value))))
    return f"{value:,.{max(0, digits - whole)}f}"


def share(ratio: float | None) -> str:
    """A ratio that never looks whole when it is not.

    >>> share(1.0), share(0.99999)
    ('1.000', '0.999')
    """
    return "-" if ratio is None else f"{int(ratio * 1000) / 1000:.3f}"
