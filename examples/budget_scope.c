/* budget_scope.c - gives each call of a function an energy budget.
 *
 * One line at the beginning of a block states the budget. The handler is called when the mean call exceeds
 * it. Without a handler, JOULE_BUDGET_WARN=1 prints a warning. JOULE_ENERGY_JSON=1 or `joule run` reports all
 * such functions.
 *
 *     cc budget_scope.c $(pkg-config --cflags --libs joule) -lm -o budget_scope && ./budget_scope
 */
#include <joule/joule.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

static atomic_bool is_over;

static void notify(const joule_budget_event *event, void *context)
{
    (void)context;
    printf("%s\n", event->message);
    atomic_store(&is_over, event->status == JOULE_BUDGET_OVER);
}

static double norm(const double *values, int count)
{
    JOULE_BUDGET_SCOPE("max_joules=1mJ");
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i] * values[i];
    return sqrt(sum);
}

int main(void)
{
    static double values[2000000];
    for (int i = 0; i < 2000000; i++)
        values[i] = i;
    joule_meter *meter;
    joule_error error;
    joule_budget_set_handler(notify, NULL);
    if (joule_open(NULL, &meter, &error) != JOULE_OK) {
        fprintf(stderr, "budget_scope: %s\n", error.message);
        return 1;
    }
    double sum = 0;
    int calls = 0;
    for (; calls < 500 && !atomic_load(&is_over); calls++)
        sum += norm(values, 2000000);
    printf("%d calls, %g: %s\n", calls, sum,
           atomic_load(&is_over) ? "over the budget" : "within the budget, or unknown");
    joule_close(meter);
    return 0;
}
