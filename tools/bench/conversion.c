/* bench/conversion.c - see conversion.h. */
#include "conversion.h"

#include <math.h>
#include <stddef.h>
#include <strings.h>
#include "base/error.h"
#include "base/string.h"

#define JOULES_PER_KWH 3.6e6

/* The table is a file of the Python package, which has to contain it. */
#define TABLE "../../bindings/python/src/joule/carbon.def"

static const struct {
    const char *code, *long_code;
    double grams;
    const char *source;
} regions[] = {
#define COUNTRY(code, long_code, name, year, grams)                                                          \
    {code, long_code, grams, "mean of " #year ", Ember and Energy Institute, by Our World in Data"},
#define WORLD(name, year, grams) {name, name, grams, "mean of " #year ", Ember"},
#include TABLE
#undef COUNTRY
#undef WORLD
};

static const char region_codes[] = ""
#define COUNTRY(code, long_code, name, year, grams) code " "
#define WORLD(name, year, grams)                    name
#include TABLE
    ;

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
        if (strcasecmp(text, regions[i].code) != 0 && strcasecmp(text, regions[i].long_code) != 0)
            continue;
        conversion->grams_per_kwh = regions[i].grams;
        conversion->low = regions[i].grams * (1 - REGION_RANGE);
        conversion->high = regions[i].grams * (1 + REGION_RANGE);
        conversion->source = regions[i].source;
        return JOULE_OK;
    }
    return error_set(out_error, JOULE_INVALID, "--carbon takes grams per kWh or a region (%s), not '%s'",
                     region_codes, text);
}

double conversion_grams(const struct conversion *conversion, double joules, double grams_per_kwh)
{
    return joules / JOULES_PER_KWH * conversion->pue * grams_per_kwh;
}

double conversion_cost(const struct conversion *conversion, double joules)
{
    return joules / JOULES_PER_KWH * conversion->pue * conversion->price_per_kwh;
}
