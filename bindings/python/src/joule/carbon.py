"""Carbon intensity of electricity in grams of CO2 equivalent per kWh."""
from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["Intensity", "intensity_of"]

DATE = "2023"  # year of the figures, unless a row says otherwise
SOURCE = "Ember and Energy Institute, by Our World in Data"
WORLD = ("world", 480.0)  # Ember, Global Electricity Review 2024, for the year 2023

# Country code: name and annual mean of 2023 (Iceland: 2022).
COUNTRIES = {
    "AUS": ("Australia", 549.0), "AUT": ("Austria", 111.0), "BEL": ("Belgium", 138.0), "BRA": ("Brazil", 98.3),
    "CAN": ("Canada", 170.0), "CHE": ("Switzerland", 34.8), "CHN": ("China", 582.0), "DEU": ("Germany", 381.0),
    "DNK": ("Denmark", 152.0), "ESP": ("Spain", 174.0), "FIN": ("Finland", 79.2), "FRA": ("France", 56.0),
    "GBR": ("United Kingdom", 238.0), "IND": ("India", 713.0), "IRL": ("Ireland", 291.0), "ISL": ("Iceland", 27.7),
    "ITA": ("Italy", 331.0), "JPN": ("Japan", 485.0), "KOR": ("South Korea", 431.0), "MEX": ("Mexico", 507.0),
    "NLD": ("Netherlands", 268.0), "NOR": ("Norway", 30.1), "NZL": ("New Zealand", 113.0), "POL": ("Poland", 662.0),
    "PRT": ("Portugal", 166.0), "SGP": ("Singapore", 471.0), "SWE": ("Sweden", 40.7), "TWN": ("Taiwan", 642.0),
    "USA": ("United States", 369.0), "ZAF": ("South Africa", 708.0),
}


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
    name, grams = COUNTRIES.get(code, WORLD)
    if given is not None:
        return Intensity(given, name if code in COUNTRIES else "", code, "given by the user")
    return Intensity(grams, name, code, f"annual mean of {DATE}, {SOURCE}")
