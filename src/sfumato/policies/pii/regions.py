"""The regions of the world by their ISO 3166 codes, so that a mistyped one is refused early.

The list is that of phonenumbers; a test compares the two. It stands here because building a
policy must not load that library.
"""

from __future__ import annotations

from functools import cache

_KNOWN = """
AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR
BS BT BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC
EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GT GU GW GY HK
HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB
LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY
MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT PW PY QA RE RO RS
RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TA TC TD TG TH TJ TK TL
TM TN TO TR TT TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW
"""

# Where English is read most, the European Union and its neighbours, and a few large others.
DEFAULT = (
    *("US", "CA", "GB", "IE", "AU", "NZ", "IN", "ZA"),
    *("DE", "AT", "CH", "FR", "BE", "NL", "LU", "ES", "PT", "IT"),
    *("SE", "NO", "DK", "FI", "IS", "EE", "LV", "LT"),
    *("PL", "CZ", "SK", "HU", "SI", "HR", "RO", "BG", "GR", "CY"),
    *("BR", "MX", "JP"),
)


@cache
def known_regions() -> frozenset[str]:
    """Every region that has telephone numbers."""
    return frozenset(_KNOWN.split())
