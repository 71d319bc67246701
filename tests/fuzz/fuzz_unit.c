/* Fuzz target: parsers of numbers and units. Checks that accepted values are in range. If a value is written
 * and parsed again, the result must be the same value. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <joule/quantity.h>
#include "base/string.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_unit(const char *text, joule_dimension dimension)
{
    double value = NAN, back;
    joule_error error = {0};
    if (joule_parse(text, dimension, &value, &error) != JOULE_OK) {
        require(isnan(value) && error.message[0] != '\0');
        return;
    }
    require(isfinite(value) && value >= 0);
    char written[64];
    require(joule_format(value, dimension, 15, written, sizeof written) < sizeof written);
    /* Written values are rounded. Near the largest double, the rounded value would exceed the range of
     * double. */
    if (value < 1e308)
        require(joule_parse(written, dimension, &back, NULL) == JOULE_OK &&
                (fabs(back - value) <= 1e-14 * value || value < 1e-300));
}

static void see_cpu(unsigned cpu, void *context)
{
    (void)context;
    require(cpu <= 65535);
}

static void check_numbers(const char *text)
{
    double real, again;
    if (string_to_double(text, &real)) {
        char written[40];
        struct text builder;
        text_init(&builder, written, sizeof written);
        text_add_double(&builder, real);
        require(isfinite(real) && builder.length < sizeof written);
        require(string_to_double(written, &again) && again == real);
    }
    const char *rest = string_scan_double(text, &real);
    require(!rest || (rest > text && rest <= text + strlen(text)));
    uint64_t whole;
    int64_t signed_whole;
    for (int base = 0; base <= 16; base += base ? 6 : 10)
        if (string_to_u64(text, base, &whole) && whole <= INT64_MAX)
            require(string_to_i64(text, base, &signed_whole) && signed_whole == (int64_t)whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (joule_dimension dimension = JOULE_DIMENSION_ENERGY; dimension <= JOULE_DIMENSION_TEMPERATURE;
         dimension++)
        check_unit(text, dimension);
    check_numbers(text);
    if (size < 64) /* limits the time: each range may name 65,536 CPUs */
        string_each_cpu(text, see_cpu, NULL);
    free(text);
    return 0;
}
