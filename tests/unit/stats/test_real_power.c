/* Tests the statistics on measurements that other people made: marks in traces of MLPerf Tiny, analyzers
 * of MLPerf inference, and repeated runs of Energy-Languages. Nothing is fitted to them. Skipped if they
 * are absent. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "joule/stats/change_points.h"
#include "joule/stats/compare.h"
#include "joule/stats/steady.h"
#include "support/check.h"
#include "support/test_data.h"

#define MAX_VALUES 200000
static double values[MAX_VALUES];

/* Returns the files that match a pattern below the data. */
static glob_t files(const char *pattern)
{
    char path[4096];
    glob_t found = {0};
    const char *root = test_data("power");
    snprintf(path, sizeof path, "%s/%s", root ? root : "", pattern);
    if (!root || glob(path, 0, NULL, &found) != 0)
        skip();
    return found;
}

/* Reads a trace of microjoules per sample. Returns the number of samples; *out_rate: samples per second. */
static size_t read_trace(const char *path, double *out_rate)
{
    size_t length, count = 0;
    char *bytes = test_read_file(path, &length);
    assert_non_null(bytes);
    float rate, microjoules;
    memcpy(&rate, bytes + 1, sizeof rate);
    for (; 5 + 4 * count + 4 <= length && count < MAX_VALUES; count++) {
        memcpy(&microjoules, bytes + 5 + 4 * count, sizeof microjoules);
        values[count] = microjoules * 1e-6 * rate;
    }
    free(bytes);
    *out_rate = rate;
    return count;
}

/* Returns the distance in seconds from a mark to the nearest bound of a phase. */
static double distance(const struct phases *phases, double rate, double mark_s)
{
    double nearest = INFINITY;
    for (size_t i = 1; i < phases->count; i++)
        nearest = fmin(nearest, fabs((double)phases->items[i].first / rate - mark_s));
    return nearest;
}

/* The windows of MLPerf Tiny begin and end at marks of the program. Phases are found without them. At some
 * marks of st_l4r5zi_kws, power does not change. */
static void test_phases_of_mlperf_tiny_begin_at_the_marks(void **state)
{
    (void)state;
    glob_t traces = files("mlperf-tiny/*/trace1-energy.bin");
    int marks = 0, found = 0;
    for (size_t f = 0; f < traces.gl_pathc; f++) {
        double rate;
        size_t count = read_trace(traces.gl_pathv[f], &rate);
        struct arena arena = {.block_size = 1 << 20};
        struct phases phases;
        struct phase_rule rule = {.min_count = 100};
        assert_true(change_points_find(values, count, &rule, &arena, &phases));
        char path[4096];
        int folder = (int)(strrchr(traces.gl_pathv[f], '/') - traces.gl_pathv[f]);
        snprintf(path, sizeof path, "%.*s/trace1-timestamps.json", folder, traces.gl_pathv[f]);
        char *text = test_read_file(path, NULL), *at = text + 1;
        assert_non_null(text);
        int own_marks = 0, own_found = 0;
        for (double mark = strtod(at, &at); at[0] && at[0] != ']'; mark = strtod(at + 1, &at)) {
            own_marks += mark > 0.1; /* the first mark is the begin of the trace */
            own_found += mark > 0.1 && distance(&phases, rate, mark) <= 0.02;
        }
        print_message("%s: %d of %d marks within 20 ms, %zu phases\n", path, own_found, own_marks,
                      phases.count);
        marks += own_marks;
        found += own_found;
        free(text);
        arena_free(&arena);
    }
    globfree(&traces);
    assert_true(marks > 0 && found * 10 >= marks * 8);
}

/* Reads the watts of a power analyzer, one value per second. */
static size_t read_watts(const char *path)
{
    size_t count = 0;
    char *text = test_read_file(path, NULL);
    assert_non_null(text);
    for (char *at = strstr(text, "Watts,"); at && count < MAX_VALUES; at = strstr(at + 1, "Watts,"))
        values[count++] = strtod(at + strlen("Watts,"), NULL);
    free(text);
    return count;
}

static void test_the_longest_phase_of_an_analyzer_is_steady_and_its_start_is_not(void **state)
{
    (void)state;
    glob_t logs = files("mlperf-inference/*/run_1/spl.txt");
    for (size_t f = 0; f < logs.gl_pathc; f++) {
        struct arena arena = {0};
        struct phases phases;
        struct phase_rule rule = {.min_count = 10};
        assert_true(change_points_find(values, read_watts(logs.gl_pathv[f]), &rule, &arena, &phases));
        struct phase longest = phases.items[0];
        for (size_t i = 1; i < phases.count; i++)
            longest = phases.items[i].count > longest.count ? phases.items[i] : longest;
        struct drift inside = drift_fit(values + longest.first, longest.count, 0.95);
        struct drift start = drift_fit(values, longest.first, 0.95);
        print_message("%s: %zu s at %.4g W drift by %.2f %%\n", logs.gl_pathv[f], longest.count, inside.mean,
                      100 * inside.change / inside.mean);
        assert_int_equal(drift_judge(&inside, 0.02 * inside.mean), STEADINESS_STEADY);
        assert_int_not_equal(drift_judge(&start, 0.02 * start.mean), STEADINESS_STEADY);
        arena_free(&arena);
    }
    globfree(&logs);
}

/* Numbers of comparisons of programs with themselves, and of those that find a difference. */
struct tally {
    int compared, interleaved, separate;
};

/* Compares `count` runs of one program: alternate runs in blocks of two, and the first half with the
 * second. */
static void compare_with_itself(const double *runs, size_t count, struct tally *tally)
{
    const struct ratio_rule rule = {.level = 0.95};
    double a[64], b[64];
    size_t half = count / 2;
    if (half < 3 || half > 64)
        return;
    for (size_t i = 0; i < half; i++) { /* the order in a block alternates, as it would be random */
        a[i] = runs[2 * i + i % 2];
        b[i] = runs[2 * i + (i + 1) % 2];
    }
    tally->compared++;
    tally->interleaved += ratio_paired(a, b, half, &rule).p <= 0.05;
    tally->separate += ratio_unpaired(runs, half, runs + half, half, &rule).p <= 0.05;
}

static void test_real_programs_rarely_differ_from_themselves(void **state)
{
    (void)state;
    glob_t tables = files("energy-languages/*.csv");
    struct tally tally = {0};
    for (size_t f = 0; f < tables.gl_pathc; f++) {
        char *text = test_read_file(tables.gl_pathv[f], NULL), name[64] = "";
        assert_non_null(text);
        size_t count = 0;
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            size_t length = strcspn(line, " ;");
            char *joules = strchr(line, ';');
            if (!joules || length >= sizeof name)
                continue;
            if (strncmp(line, name, length) != 0 || name[length]) {
                compare_with_itself(values, count, &tally);
                count = 0;
                snprintf(name, sizeof name, "%.*s", (int)length, line);
            }
            values[count++] = strtod(joules + 1, NULL);
        }
        compare_with_itself(values, count, &tally);
        free(text);
    }
    globfree(&tables);
    print_message("of %d programs, %d differ from themselves if runs are interleaved, %d if not\n",
                  tally.compared, tally.interleaved, tally.separate);
    assert_true(tally.compared >= 100 && tally.interleaved * 100 <= tally.compared * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases_of_mlperf_tiny_begin_at_the_marks),
        cmocka_unit_test(test_the_longest_phase_of_an_analyzer_is_steady_and_its_start_is_not),
        cmocka_unit_test(test_real_programs_rarely_differ_from_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
