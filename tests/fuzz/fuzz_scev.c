/* Fuzz target: output of LLVM's scalar evolution printer. Reading must not crash, and the summation over
 * loops must end. Checks that low <= estimate <= high in each range. If an argument has one value, the exact
 * result must lie in the range for many values of the argument. */
#include <math.h>
#include <string.h>
#include "joulec/trips/trips.h"
#include "require.h"
#include "support/joulec/scev_text.h"

#define MAX_LOOPS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_order(const struct trips_range *range)
{
    require(range->low >= 0 && range->low <= range->est && range->est <= range->high);
}

static void count(const struct scev_function *function, const struct trips_loop *loops, size_t loop_count,
                  int64_t low, int64_t high, struct trips *out)
{
    struct trips_symbol symbols[] = {{"n", low, high, high}, {"m", low, low, high}};
    require(trips_count(&function->pool, loops, loop_count, symbols, 2, 100, out));
    for (size_t i = 0; i < loop_count; i++) {
        check_order(&out[i].per_entry);
        check_order(&out[i].iterations);
        check_order(&out[i].entries);
        require(out[i].cls <= out[i].total_cls);
        require(low < high || out[i].total_cls > TRIPS_SYMBOLIC ||
                out[i].iterations.low == out[i].iterations.high);
    }
}

/* Counts the iterations of a function's loops. If `shape` is odd, each loop is inside the loop that is
 * printed after it. Otherwise no loop is inside another one. */
static void count_function(const struct scev_function *function, uint8_t shape)
{
    struct trips_loop loops[MAX_LOOPS] = {0};
    struct trips one[MAX_LOOPS], many[MAX_LOOPS];
    size_t loop_count = function->loop_count < MAX_LOOPS ? function->loop_count : MAX_LOOPS;
    for (size_t i = 0; i < loop_count; i++) {
        loops[i].parent = i && shape & 1 ? (uint32_t)i - 1 : TRIPS_NONE;
        loops[i].facts = &function->loops[loop_count - 1 - i];
        loops[i].entry = (enum trips_entry)(shape / 2 % 3);
        loops[i].last = (enum trips_last)(shape / 8 % 3);
    }
    count(function, loops, loop_count, 0, 30, many);
    for (int64_t n = 0; n <= 30; n += 15) {
        count(function, loops, loop_count, n, n, one);
        for (size_t i = 0; i < loop_count; i++)
            if (one[i].total_cls <= TRIPS_SYMBOLIC && many[i].total_cls <= TRIPS_BOUNDED)
                require(many[i].iterations.low <= one[i].iterations.low &&
                        one[i].iterations.high <= many[i].iterations.high);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scev_facts text;
    if (size < 1)
        return 0;
    require(scev_text_read((const char *)data + 1, size - 1, &text));
    for (size_t i = 0; i < text.function_count && i < 2; i++) {
        const struct scev_function *function = &text.functions[i];
        for (size_t k = 0; k < function->loop_count; k++)
            require(scev_loop_of(function, function->loops[k].header) != NULL);
        count_function(function, data[0]);
    }
    scev_facts_free(&text);
    return 0;
}
