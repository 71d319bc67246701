/* regions.c - measures the energy of two parts of a program.
 *
 * Two kinds of work alternate; each is a region with a name. Begin and end take less than 100 ns each. Energy
 * is attributed to the regions later.
 *
 *     cc regions.c $(pkg-config --cflags --libs joule) -lm -o regions && ./regions
 */
#include <joule/joule.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile double sum; /* volatile, so that the compiler keeps the work */

static void compute(void)
{
    for (int i = 1; i < 3000000; i++)
        sum += sqrt((double)i);
}

static void copy(char *to, const char *from, size_t size)
{
    for (int i = 0; i < 4; i++)
        memcpy(to, from, size);
}

static void print(joule_meter *meter, const char *name, uint32_t tag)
{
    joule_result result = {.struct_size = sizeof result};
    joule_status status = joule_tag_result(meter, tag, &result);
    /* The status is JOULE_PENDING if the program runs under `joule run`, which reports the regions itself. */
    if (status != JOULE_OK && status != JOULE_PENDING) {
        printf("%-8s %s\n", name, joule_status_name(status));
        return;
    }
    joule_quantity joules = result.attributed;
    printf("%-8s %4llu times %7.3f s %8.2f J (%.2f to %.2f), %s%s\n", name, (unsigned long long)result.count,
           result.duration_s, joules.value, joules.low, joules.high, joule_class_name(joules.cls),
           result.is_final ? "" : ", not final");
}

int main(void)
{
    size_t size = 16u << 20;
    char *from = calloc(1, size), *to = malloc(size);
    joule_meter *meter = NULL;
    joule_error error;
    if (!from || !to || joule_open(NULL, &meter, &error) != JOULE_OK) {
        fprintf(stderr, "regions: %s\n", from && to ? error.message : "out of memory");
        free(from);
        free(to);
        return 1;
    }
    uint32_t compute_tag = joule_tag("compute"), copy_tag = joule_tag("copy");
    joule_region region = {0};
    for (int i = 0; i < 50; i++) {
        region = joule_begin(compute_tag);
        compute();
        joule_end(&region);
        region = joule_begin(copy_tag);
        copy(to, from, size);
        joule_end(&region);
    }
    joule_result last = {.struct_size = sizeof last};
    joule_region_wait(meter, &region, 1.0, &last); /* waits until each sensor was read after the last end */
    print(meter, "compute", compute_tag);
    print(meter, "copy", copy_tag);
    joule_close(meter);
    free(from);
    free(to);
    return 0;
}
