/* minimal.c - measures the energy of a function call, on any machine.
 *
 *     cc minimal.c $(pkg-config --cflags --libs joule) -lm -o minimal && ./minimal
 */
#include <joule/joule.h>
#include <math.h>
#include <stdio.h>

static volatile double sum; /* volatile, so that the compiler keeps the work */

static void work(void *arg)
{
    for (long i = 1; i < *(long *)arg; i++)
        sum += sqrt((double)i);
}

int main(void)
{
    long steps = 100000000;
    joule_measurement cost = {.struct_size = sizeof cost};
    joule_status status = joule_measure(work, &steps, &cost);
    if (status != JOULE_OK && status != JOULE_PENDING) {
        fprintf(stderr, "minimal: not measured: %s\n", joule_status_name(status));
        return 1;
    }
    joule_quantity joules = cost.total_joules;
    printf("%.2f s: %.1f J (%.1f to %.1f with 90 %% probability), %s\n", cost.duration_s, joules.value,
           joules.low, joules.high, joule_class_name(joules.cls));
    return 0;
}
