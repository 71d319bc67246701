/* Compares trip counts that joulec computes from the output of LLVM's tool opt with counts from execution,
 * for loop nests compiled by clang.
 *
 * The texts are in tests/fixtures/scev; the variable TRIPS_NESTS names another text. A line "# loop F HEADER
 * PARENT ENTRY LAST" describes a loop of function F. A line "# run F N M COUNT..." gives the counts of the
 * loops of F for the arguments N and M. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/trips/trips.h"
#include "support/joulec/scev_text.h"

#define MAX_LOOPS 8

struct nest {
    char name[64];
    char headers[MAX_LOOPS][64];
    struct trips_loop loops[MAX_LOOPS];
    size_t count;
    const struct scev_function *function;
    bool is_doubtful; /* true: a loop is inside a condition, or follows one of several exits */
};

struct tally {
    size_t nests, loops, exact, runs;
};

static char *read_text(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = 0, room = 1 << 20;
    char *text = malloc(room);
    assert_non_null(text);
    size = fread(text, 1, room - 1, file);
    assert_true(size < room - 1);
    fclose(file);
    text[size] = '\0';
    *out_size = size;
    return text;
}

static uint32_t index_of(const struct nest *nest, const char *header)
{
    for (uint32_t i = 0; i < nest->count; i++)
        if (strcmp(nest->headers[i], header) == 0)
            return i;
    return TRIPS_NONE;
}

static void add_loop(struct nest *nest, const struct scev_facts *text, const char *line)
{
    char name[64], header[64], parent[64], entry[16], last[16];
    assert_int_equal(sscanf(line, "# loop %63s %63s %63s %15s %15s", name, header, parent, entry, last), 5);
    if (strcmp(nest->name, name) != 0) {
        *nest = (struct nest){.function = scev_find_function(text, name)};
        strcpy(nest->name, name);
    }
    assert_true(nest->count < MAX_LOOPS);
    assert_non_null(nest->function);
    struct trips_loop *loop = &nest->loops[nest->count];
    loop->parent = index_of(nest, parent);
    loop->facts = scev_loop_of(nest->function, header);
    loop->entry = strcmp(entry, "sometimes") == 0 ? TRIPS_SOMETIMES
                  : strcmp(entry, "always") == 0  ? TRIPS_ALWAYS
                                                  : TRIPS_GUARDED;
    loop->last = strcmp(last, "reached") == 0  ? TRIPS_REACHED
                 : strcmp(last, "missed") == 0 ? TRIPS_MISSED
                                               : TRIPS_EITHER;
    nest->is_doubtful = nest->is_doubtful || loop->entry == TRIPS_SOMETIMES || loop->last == TRIPS_EITHER;
    strcpy(nest->headers[nest->count++], header);
    assert_non_null(loop->facts);
}

static void count(const struct nest *nest, const struct trips_symbol symbols[2], struct trips out[MAX_LOOPS])
{
    assert_true(trips_count(&nest->function->pool, nest->loops, nest->count, symbols, 2, 100, out));
}

static void check_exact(const struct nest *nest, size_t i, const struct trips *trips, double counted)
{
    if (trips->iterations.low != counted || trips->iterations.est != counted ||
        trips->iterations.high != counted)
        fail_msg("%s: loop %s: %g..%g..%g (%s) and not %g", nest->name, nest->headers[i],
                 trips->iterations.low, trips->iterations.est, trips->iterations.high,
                 trips_class_name(trips->total_cls), counted);
    assert_true(trips->entries.low == trips->entries.high && trips->entries.low <= counted);
    assert_true((trips->entries.low == 0) == (counted == 0));
}

static void check_range(const struct nest *nest, size_t i, const struct trips *trips, double counted)
{
    if (!(trips->iterations.low <= counted && counted <= trips->iterations.high))
        fail_msg("%s: loop %s: %g is not in %g..%g (%s)", nest->name, nest->headers[i], counted,
                 trips->iterations.low, trips->iterations.high, trips_class_name(trips->total_cls));
    assert_true(trips->iterations.low <= trips->iterations.est &&
                trips->iterations.est <= trips->iterations.high);
    assert_true(trips->entries.low <= trips->entries.est && trips->entries.est <= trips->entries.high);
    assert_true(trips->entries.high <= trips->iterations.high);
    assert_true(trips->per_entry.low <= trips->per_entry.est &&
                trips->per_entry.est <= trips->per_entry.high);
}

/* Counts the iterations with known arguments, with a range for each argument, and with unknown arguments.
 * Compares the results with the counts in `line`. */
static void check_run(const struct nest *nest, const char *line, struct tally *tally)
{
    long n, m;
    int at = 0;
    assert_int_equal(sscanf(line, "# run %*s %ld %ld%n", &n, &m, &at), 2);
    struct trips_symbol known[] = {{"n", n, n, n}, {"m", m, m, m}},
                        ranges[] = {{"n", 0, n, 80}, {"m", 0, 10, 20}},
                        none[] = {{"other", 0, 0, 0}, {"another", 0, 0, 0}};
    struct trips exact[MAX_LOOPS], wide[MAX_LOOPS], guessed[MAX_LOOPS];
    count(nest, known, exact);
    count(nest, ranges, wide);
    count(nest, none, guessed);
    for (size_t i = 0; i < nest->count; i++) {
        char *end = NULL;
        double counted = strtod(line + at, &end);
        at = (int)(end - line);
        check_range(nest, i, &exact[i], counted);
        check_range(nest, i, &wide[i], counted);
        check_range(nest, i, &guessed[i], counted);
        if (exact[i].total_cls <= TRIPS_SYMBOLIC) {
            check_exact(nest, i, &exact[i], counted);
            tally->exact++;
        } else if (getenv("TRIPS_SHOW")) {
            printf("%s(%ld, %ld): loop %s: %s, %g..%g..%g, counted %g\n", nest->name, n, m, nest->headers[i],
                   trips_class_name(exact[i].total_cls), exact[i].iterations.low, exact[i].iterations.est,
                   exact[i].iterations.high, counted);
        }
        tally->loops++;
    }
    tally->runs++;
}

static struct tally check_file(const char *path)
{
    size_t size;
    char *text = read_text(path, &size);
    struct scev_facts scev;
    struct nest nest = {0};
    struct tally tally = {0};
    assert_true(scev_text_read(text, size, &scev));
    for (char *line = text, *end; line && *line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        if (strncmp(line, "# loop ", 7) == 0) {
            tally.nests += nest.count == 0 || strncmp(line + 7, nest.name, strlen(nest.name)) != 0 ||
                           line[7 + strlen(nest.name)] != ' ';
            add_loop(&nest, &scev, line);
        } else if (strncmp(line, "# run ", 6) == 0) {
            check_run(&nest, line, &tally);
        }
    }
    scev_facts_free(&scev);
    free(text);
    printf("%s: %zu nests, %zu runs; %zu of %zu loops' sums exact, all equal to what was counted\n",
           strrchr(path, '/') + 1, tally.nests, tally.runs, tally.exact, tally.loops);
    return tally;
}

static void check_version(const char *version)
{
    char path[512];
    const char *other = getenv("TRIPS_NESTS");
    snprintf(path, sizeof path, "%s/fixtures/scev/nests_%s.txt", TEST_SOURCE_DIR, version);
    struct tally tally = check_file(other ? other : path);
    assert_true(tally.nests >= 60);
    assert_true(10 * tally.exact >= 8 * tally.loops);
}

static void test_sums_of_llvm_14_equal_counted_iterations(void **state)
{
    (void)state;
    check_version("14");
}

static void test_sums_of_llvm_19_equal_counted_iterations(void **state)
{
    (void)state;
    check_version("19");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_llvm_14_equal_counted_iterations),
        cmocka_unit_test(test_sums_of_llvm_19_equal_counted_iterations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
