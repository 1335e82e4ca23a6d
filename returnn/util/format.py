"""Times and sizes as people read them."""

from __future__ import annotations

import math


def hms(seconds: float) -> str:
    """
    :param seconds: a duration
    :return: hours, minutes, seconds, truncated: 3661.9 -> ``"1:01:01"``
    """
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    minutes, secs = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}:{minutes:02d}:{secs:02d}"


def hms_fraction(seconds: float, *, decimals: int = 4) -> str:
    """
    :param seconds: a duration
    :param decimals: digits behind the point, truncated
    :return: as :func:`hms`, with a fraction: 61.25 -> ``"0:01:01.2500"``
    """
    fraction = int(math.modf(abs(seconds))[0] * 10**decimals)
    return f"{hms(seconds)}.{fraction:0{decimals}d}"


def human_size(n: float, *, factor: int = 1000, frac: float = 0.8, precision: int = 1) -> str:
    """
    :param n: a count
    :param factor: from one unit to the next
    :param frac: the next unit is taken above this part of it
    :param precision: digits behind the point, if there is a unit
    :return: 5800 -> ``"5.8K"``
    """
    sign, n = ("-", -n) if n < 0 else ("", n)
    units = "KMGT"
    unit = ""
    for next_unit in units:
        if n <= factor * frac:
            break
        n, unit = n / factor, next_unit
    return f"{sign}{n:.{precision}f}{unit}" if unit else f"{sign}{n:g}"


def human_bytes_size(n: float, *, factor: int = 1024, frac: float = 0.8, precision: int = 1) -> str:
    """
    :param n: a number of bytes
    :return: as :func:`human_size` with binary units: 5800 -> ``"5.7KB"``
    """
    return human_size(n, factor=factor, frac=frac, precision=precision) + "B"


def parse_size(text: str | int | float) -> int:
    """
    :param text: a number of bytes, as number or as text with an optional unit K, M or G: ``"500M"``
    :return: bytes: ``"2G"`` -> 2147483648
    :raises ValueError: the text is no size
    """
    if isinstance(text, (int, float)):
        return int(text)
    number, unit = text.strip(), 1
    if number[-1:].upper() in ("K", "M", "G"):
        unit = 1024 ** ("KMG".index(number[-1].upper()) + 1)
        number = number[:-1]
    try:
        return int(float(number) * unit)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no size. Write a number with an optional unit K, M or G, as '500M'.") from None
