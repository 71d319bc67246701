"""Carbon intensity of electricity in grams of CO2 equivalent per kWh."""
from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Intensity", "intensity_of"]

_TABLE = Path(__file__).with_name("carbon.def").read_text(encoding="utf-8")

# Country code: name, grams, year. WORLD is (name, grams, year).
COUNTRIES = {code: (name, float(grams), year) for code, name, year, grams
             in re.findall(r'^COUNTRY\("\w+", "(\w+)", "([^"]+)", (\d+), ([\d.]+)\)$', _TABLE, re.M)}
WORLD = next((name, float(grams), year) for name, year, grams
             in re.findall(r'^WORLD\("([^"]+)", (\d+), ([\d.]+)\)$', _TABLE, re.M))


@dataclass(frozen=True)
class Intensity:
    """Grams of CO2 equivalent per kWh, with their origin. The class of an emission is always "assumed"."""

    grams_per_kwh: float
    country_name: str
    country_code: str
    source: str


def intensity_of(country_code: str | None = None, given: float | None = None) -> Intensity:
    """Returns `given`, else the variable JOULE_CARBON_INTENSITY, else the country's figure, else that of the
    world. Raises ValueError for an unknown country. Makes no request."""
    text = os.environ.get("JOULE_CARBON_INTENSITY")
    if given is None and text:
        given = float(text)
    code = (country_code or "").upper()
    if code and code not in COUNTRIES and given is None:
        raise ValueError(f"no carbon intensity is known for the country {country_code!r}: give "
                         f"force_carbon_intensity_g_co2e_kwh, or one of {', '.join(COUNTRIES)}")
    name, grams, year = COUNTRIES.get(code, WORLD)
    if given is not None:
        return Intensity(given, name if code in COUNTRIES else "", code, "given by the user")
    source = "Ember and Energy Institute, by Our World in Data" if code else "Ember"
    return Intensity(grams, name, code, f"mean of {year}, {source}")
