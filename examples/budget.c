/* budget.c - stops its work when an energy budget is spent.
 *
 * The sampling thread calls the callback at 80 % and at 100 % of the budget. The callback only sets a flag.
 *
 *     cc budget.c $(pkg-config --cflags --libs joule) -lm -o budget && ./budget 5J
 */
#include <joule/joule.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

static atomic_bool is_over;

static void notify(joule_budget *budget, joule_budget_status status, void *context)
{
    (void)budget;
    (void)context;
    if (status == JOULE_BUDGET_OVER)
        atomic_store(&is_over, true);
}

static volatile double sum; /* volatile, so that the compiler keeps the work */

static long work(long steps)
{
    long step = 0;
    for (; step < steps && !atomic_load(&is_over); step++)
        sum += sqrt((double)step);
    return step;
}

int main(int argc, char **argv)
{
    joule_error error;
    joule_budget *budget;
    joule_budget_options options = {.struct_size = sizeof options, .domain = JOULE_TOTAL, .notify = notify};
    if (joule_parse(argc > 1 ? argv[1] : "5J", JOULE_DIMENSION_ENERGY, &options.max_joules, &error) !=
            JOULE_OK ||
        joule_budget_begin(NULL, &options, &budget, &error) != JOULE_OK) {
        fprintf(stderr, "budget: %s\n", error.message);
        return 1;
    }
    long steps = work(2000000000);
    joule_budget_result result = {.struct_size = sizeof result};
    joule_budget_end(budget, &result);
    printf("%ld steps, %.1f J (%.1f to %.1f) of %.1f J: %s\n", steps, result.joules.value, result.joules.low,
           result.joules.high, options.max_joules, joule_budget_status_name(result.status));
    return 0;
}
