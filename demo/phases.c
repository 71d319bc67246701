/* demo/phases.c - a program with different kinds of work, each of which is a region, for `joule plot`.
 *
 * Writes a file of random numbers and reads it back. Then it sorts the numbers with one thread and with two
 * threads. Between the parts it sleeps, so that the power of the idle machine is visible.
 */
#include <joule/joule.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT    12000000u
#define PAUSE_US 300000

struct part {
    uint32_t *values;
    size_t count;
};

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort(uint32_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
}

static void *sort_part(void *argument)
{
    struct part *part = argument;
    joule_region region = joule_begin(joule_tag("sort half"));
    sort(part->values, part->count);
    joule_end(&region);
    return NULL;
}

static void merge(const uint32_t *left, const uint32_t *right, size_t half, size_t count, uint32_t *out)
{
    size_t a = 0, b = 0;
    for (size_t i = 0; i < count; i++)
        out[i] = b == count - half || (a < half && left[a] <= right[b]) ? left[a++] : right[b++];
}

/* Sorts with two threads. Returns false if no thread can be started. */
static int sort_parallel(uint32_t *values, size_t count, uint32_t *out)
{
    size_t half = count / 2;
    struct part first = {values, half}, second = {values + half, count - half};
    pthread_t helper;
    if (pthread_create(&helper, NULL, sort_part, &first) != 0)
        return 0;
    sort_part(&second);
    pthread_join(helper, NULL);
    joule_region region = joule_begin(joule_tag("merge"));
    merge(first.values, second.values, half, count, out);
    joule_end(&region);
    return 1;
}

static int write_and_read(uint32_t *values, size_t count)
{
    FILE *file = tmpfile();
    if (!file)
        return 0;
    joule_region region = joule_begin(joule_tag("write file"));
    for (int i = 0; i < 6; i++) {
        rewind(file);
        if (fwrite(values, sizeof *values, count, file) != count || fflush(file) != 0)
            return 0;
        fsync(fileno(file));
    }
    joule_end(&region);
    usleep(PAUSE_US);
    region = joule_begin(joule_tag("read file"));
    size_t read = 0;
    for (int i = 0; i < 20; i++) {
        rewind(file);
        read = fread(values, sizeof *values, count, file);
    }
    joule_end(&region);
    fclose(file);
    return read == count;
}

int main(void)
{
    uint32_t *values = malloc(COUNT * sizeof *values), *copy = malloc(COUNT * sizeof *copy),
             *sorted = malloc(COUNT * sizeof *sorted);
    if (!values || !copy || !sorted) {
        fprintf(stderr, "phases: out of memory\n");
        return 1;
    }
    joule_region region = joule_begin(joule_tag("initialise"));
    uint64_t state = 1;
    for (size_t i = 0; i < COUNT; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        values[i] = (uint32_t)(state >> 32);
    }
    memcpy(copy, values, COUNT * sizeof *values);
    joule_end(&region);
    usleep(PAUSE_US);
    if (!write_and_read(values, COUNT)) {
        fprintf(stderr, "phases: cannot write or read a temporary file\n");
        return 1;
    }
    usleep(PAUSE_US);
    region = joule_begin(joule_tag("sort, one thread"));
    sort(values, COUNT);
    joule_end(&region);
    usleep(PAUSE_US);
    region = joule_begin(joule_tag("sort, two threads"));
    int succeeded = sort_parallel(copy, COUNT, sorted);
    joule_end(&region);
    usleep(PAUSE_US);
    return succeeded && memcmp(values, sorted, COUNT * sizeof *values) == 0 ? 0 : 1;
}
