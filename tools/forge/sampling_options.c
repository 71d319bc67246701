/* tools/forge/sampling_options.c - see sampling_options.h. */
#include "sampling_options.h"

#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include "base/clock.h"
#include "base/string.h"

#define DEFAULT_TEMPERATURE 0.7
#define DEFAULT_TOP_P       0.95
#define MAX_SEED            (UINT64_C(1) << 53) /* JSON's readers represent every integer below it */

static const struct {
    const char *name, *help;
    double min, max;
} numbers[SAMPLING_NUMBERS] = {
    [TEMPERATURE] = {"temperature", "randomness; 0: always the most likely token (default: 0.7)", 0, 100},
    [TOP_P] = {"top-p", "keep the most likely tokens with this total probability; 1: all (default: 0.95)",
               1e-9, 1},
    [MIN_P] = {"min-p",
               "keep tokens with this share of the largest probability (default: 0, which keeps all)", 0, 1},
    [REPETITION] = {"repetition-penalty",
                    "divide positive logits of tokens in prompt or answer by X (default: 1)", 0.01, 100},
    [PRESENCE] = {"presence-penalty", "subtract X from the logits of tokens in the answer (default: 0)", -2,
                  2},
    [FREQUENCY] = {"frequency-penalty", "subtract X for each time that a token is in the answer (default: 0)",
                   -2, 2},
};

size_t sampling_options_add(struct sampling_options *o, struct option *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < SAMPLING_NUMBERS; i++) {
        char letter = i == TEMPERATURE ? 'T' : 0;
        rows[count++] =
            (struct option){numbers[i].name, letter, OPTION_TEXT, &o->numbers[i], "X", numbers[i].help};
    }
    rows[count++] =
        (struct option){"top-k",   0,   OPTION_TEXT,
                        &o->top_k, "N", "keep the N most likely tokens (default: 0, which keeps all)"};
    rows[count++] = (struct option){"seed",   's', OPTION_TEXT,
                                    &o->seed, "N", "seed of the choice of tokens (default: a random number)"};
    return count;
}

static bool read_number(const struct sampling_options *o, enum sampling_number which, const char *subcommand,
                        double *value)
{
    const char *text = o->numbers[which];
    double number;
    if (!text)
        return true;
    if (string_to_double(text, &number) && number >= numbers[which].min && number <= numbers[which].max) {
        *value = number;
        return true;
    }
    complain(subcommand, "--%s takes a number from %g to %g, not '%s'", numbers[which].name,
             numbers[which].min, numbers[which].max, text);
    return false;
}

static bool read_whole(const char *text, const char *option, const char *subcommand, uint64_t max,
                       uint64_t *value)
{
    if (!text || (string_to_u64(text, 10, value) && *value <= max))
        return true;
    complain(subcommand, "--%s takes a whole number from 0 to %llu, not '%s'", option,
             (unsigned long long)max, text);
    return false;
}

static uint64_t random_seed(void)
{
    uint32_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
        seed = (uint32_t)clock_wall_ns();
    return seed;
}

bool sampling_options_read(const struct sampling_options *o, const char *subcommand, forge_sampling *out)
{
    uint64_t top_k = 0, seed = random_seed();
    *out = forge_sampling_default();
    out->order = FORGE_ORDER_TEMPERATURE_LAST;
    out->temperature = DEFAULT_TEMPERATURE;
    out->top_p = DEFAULT_TOP_P;
    double *const values[SAMPLING_NUMBERS] = {
        [TEMPERATURE] = &out->temperature,
        [TOP_P] = &out->top_p,
        [MIN_P] = &out->min_p,
        [REPETITION] = &out->repetition_penalty,
        [PRESENCE] = &out->presence_penalty,
        [FREQUENCY] = &out->frequency_penalty,
    };
    for (size_t i = 0; i < SAMPLING_NUMBERS; i++)
        if (!read_number(o, (enum sampling_number)i, subcommand, values[i]))
            return false;
    if (!read_whole(o->top_k, "top-k", subcommand, INT32_MAX, &top_k) ||
        !read_whole(o->seed, "seed", subcommand, MAX_SEED, &seed))
        return false;
    out->top_k = (int32_t)top_k;
    out->seed = seed;
    return true;
}
