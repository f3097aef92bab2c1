"""Counts, rates and times in words."""

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


def duration_text(seconds: float) -> str:
    """Return a duration to about two digits.

    Examples
    --------
    >>> [duration_text(s) for s in (0.04, 6, 99, 750, 12_000, 400_000)]
    ['0.04 s', '6 s', '99 s', '12 min', '3 h 20 min', '4.6 days']
    """
    if seconds < 9.95:
        digits = 2 if seconds < 0.095 else 1
        return f"{seconds:.{digits}f}".removesuffix(".0").removesuffix(".00") + " s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 100 * MINUTE:
        return f"{seconds // MINUTE:.0f} min"
    if seconds < 2 * DAY:
        hours, rest = divmod(seconds, HOUR)
        return f"{hours:.0f} h {rest // MINUTE:.0f} min"
    return f"{seconds / DAY:.1f} days"


def rate_text(per_second: float) -> str:
    """Return a rate as steps per second, or slow ones as the time of each.

    Examples
    --------
    >>> [rate_text(rate) for rate in (1234, 12.3, 1.23, 0.25, 0.002)]
    ['1,234 per second', '12 per second', '1.2 per second', '4 s each', '8 min each']
    """
    if per_second < 1.0:
        return f"{duration_text(1.0 / per_second)} each"
    return f"{per_second:,.0f} per second" if per_second >= 9.95 else f"{per_second:.1f} per second"


def left_text(seconds: float) -> str:
    """Return how long it will take, in whole seconds.

    Examples
    --------
    >>> left_text(0.2), left_text(6.4), left_text(4000)
    ('1 s left', '6 s left', '66 min left')
    """
    return f"{duration_text(max(1.0, round(seconds)))} left"
