"""The ways in which a date or a time of day can be written, as patterns for a whole text.

Which pattern fits depends on names, marks and the number of digits, and the first that fits is
final: were another tried where there is no such day, then the day would decide how a text is read.

A group is named after the field it holds. ``one`` and ``two`` are a day and a month in figures, in
an order that is still to be decided; ``a`` and ``b`` are what stands between figures.
"""

from __future__ import annotations

import re
from functools import cache

from sfumato.mechanisms.date_names import month_names, weekday_names


@cache
def date_patterns() -> tuple[re.Pattern[str], ...]:
    """All patterns, in the order in which they are tried."""
    names = "|".join(sorted(map(re.escape, month_names()), key=len, reverse=True))
    days = "|".join(sorted(map(re.escape, weekday_names()), key=len, reverse=True))
    zone = r"(?: ?(?P<zone>Z|UTC|GMT|CES?T|[ECMP][SD]T|[+-][0-9]{2}:?[0-9]{2}))?"
    half = r"(?: ?(?P<half>[ap]m|[ap]\.m\.?))"
    parts = (
        r"(?P<hour>[0-9]{1,2})[:.](?P<minute>[0-9]{2})"
        r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    )
    time = rf"{parts}{half}?{zone}(?: Uhr)?"
    alone = rf"(?!\d+\.\d+\Z){time}"  # 10.15 may be a day of November as well
    hour = rf"(?P<hour>[0-9]{{1,2}})(?:{half}| ?o'clock| ?Uhr| ?h(?: ?(?P<minute>[0-9]{{2}}))?)"
    then = rf"(?:(?:T|,? (?:at |um |à |a las? )?){time})?"
    weekday = rf"(?P<weekday>{days})\.?"
    month = rf"(?P<month>{names})\.?"
    day = r"(?P<day>[0-9]{1,2})"
    last = r"(?P<year>[0-9]{4}|[0-9]{2})"
    with_day = (
        rf"(?P<year>[0-9]{{4}})(?P<a> ?[-/.] ?)(?P<month>[0-9]{{1,2}})(?P=a){day}",
        rf"(?P<one>[0-9]{{1,2}})(?P<b> ?[-/.] ?| )(?P<two>[0-9]{{1,2}})(?P=b){last}",
        rf"{day}(?P<suffix>st|nd|rd|th|er|ro|\.?º)?\.?(?: (?:of|de)| day of)?[ \-./]?{month}"
        rf"(?:,?(?: (?:de|del))?[ \-./]?'?{last})?",
        # Logs put a second blank where a day has one digit.
        rf"{month},?(?:  (?=[0-9]\b)|[ \-./])?(?:the )?{day}(?P<suffix>st|nd|rd|th)?"
        r"(?:,? ?'?(?P<year>[0-9]{4}))?",
    )
    without_time = (
        r"(?P<one>[0-9]{1,2})(?P<b>/)(?P<two>[0-9]{1,2})",
        r"(?P<one>[0-9]{1,2})(?P<b>\. ?)(?P<two>[0-9]{1,2})\.",
    )
    dates = (*(rf"{one}%s{then}" for one in with_day), *(f"{one}%s" for one in without_time))
    written = (
        *(rf"(?:{weekday},? )?(?:the |den |le |el )?{one % ''}" for one in dates),
        *(one % rf",? \(?{weekday}\)?" for one in dates),
        r"(?P<year>[0-9]{4})(?P<a> ?[-/.] ?)(?P<month>[0-9]{1,2})",
        r"(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})"
        r"(?:T(?P<hour>[0-9]{2})(?P<minute>[0-9]{2})(?P<second>[0-9]{2})?(?P<zone>Z)?)?",
        r"(?P<year>[0-9]{4}) ?[年년]"
        r"(?: ?(?P<month>[0-9]{1,2}) ?[月월](?: ?(?P<day>[0-9]{1,2}) ?[日일])?)?",
        rf"{month},?(?: (?:of|de|del))?[ \-./]?'?(?P<year>[0-9]{{4}}|(?<=')[0-9]{{2}})",
        rf"(?P<month>{names})",
        rf"(?P<weekday>{days})",
        r"(?P<year>[0-9]{4})",
        alone,
        hour,
    )
    return tuple(re.compile(one, re.IGNORECASE) for one in written)
