/* bench/conversion.c - see conversion.h. */
#include "conversion.h"

#include <math.h>
#include <stddef.h>
#include <strings.h>
#include "base/error.h"
#include "base/string.h"

#define JOULES_PER_KWH 3.6e6

/* Grams of CO2 equivalent per kWh of generated electricity, yearly means of 2023 over the whole life cycle:
 * Our World in Data (from Ember and the Energy Institute), as in CodeCarbon's file global_energy_mix.json.
 * Note: a yearly mean of a country says little about one hour. The range of the default is that of the table.
 */
static const struct {
    const char *name;
    double grams;
} regions[] = {
    {"AU", 549}, {"BR", 98},  {"CA", 170}, {"CN", 582}, {"DE", 381}, {"ES", 174},
    {"FR", 56},  {"GB", 238}, {"IN", 713}, {"IT", 331}, {"JP", 485}, {"NL", 268},
    {"NO", 30},  {"PL", 662}, {"SE", 41},  {"US", 369}, {"ZA", 708},
};
static const char table_source[] = "yearly mean of 2023, Our World in Data (Ember)";

/* The assumed relative range of a region's mean: hours and providers differ from the mean. */
#define REGION_RANGE 0.5

struct conversion conversion_none(void)
{
    return (struct conversion){.grams_per_kwh = NAN, .low = NAN, .high = NAN, .pue = 1, .price_per_kwh = NAN};
}

joule_status conversion_read_carbon(struct conversion *conversion, const char *text, joule_error *out_error)
{
    double grams;
    if (string_to_double(text, &grams) && grams >= 0) {
        conversion->grams_per_kwh = conversion->low = conversion->high = grams;
        conversion->source = "given by the user";
        return JOULE_OK;
    }
    for (size_t i = 0; i < sizeof regions / sizeof regions[0]; i++) {
        if (strcasecmp(text, regions[i].name) != 0)
            continue;
        conversion->grams_per_kwh = regions[i].grams;
        conversion->low = regions[i].grams * (1 - REGION_RANGE);
        conversion->high = regions[i].grams * (1 + REGION_RANGE);
        conversion->source = table_source;
        return JOULE_OK;
    }
    return error_set(
        out_error, JOULE_INVALID,
        "--carbon takes grams per kWh or a region (AU BR CA CN DE ES FR GB IN IT JP NL NO PL SE US ZA), "
        "not '%s'",
        text);
}

double conversion_grams(const struct conversion *conversion, double joules, double grams_per_kwh)
{
    return joules / JOULES_PER_KWH * conversion->pue * grams_per_kwh;
}

double conversion_cost(const struct conversion *conversion, double joules)
{
    return joules / JOULES_PER_KWH * conversion->pue * conversion->price_per_kwh;
}
