/* Tests energy that is computed from recordings of real meters, compared with an independent value of each
 * recording. */
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "joule/curve/counter.h"
#include "joule/curve/curve.h"
#include "joule/curve/integrate.h"
#include "support/test_data.h"

static glob_t files(const char *pattern)
{
    glob_t found = {0};
    const char *path = test_data("power");
    if (!path)
        skip();
    char full[4200];
    snprintf(full, sizeof full, "%s/%s", path, pattern);
    if (glob(full, 0, NULL, &found) != 0) {
        printf("SKIP: nothing matches %s\n", full);
        skip();
    }
    return found;
}

static char *beside(const char *path, const char *name)
{
    static char other[4200];
    snprintf(other, sizeof other, "%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
    return other;
}

/* --- MLPerf Tiny: microjoules per sample, summed over windows ------------------------------------------- */

static size_t read_numbers(const char *path, double *out, size_t size)
{
    size_t n = 0;
    char *text = test_read_file(path, NULL);
    assert_non_null(text);
    for (char *p = text; *p && n < size;) {
        char *end;
        double value = strtod(p, &end);
        if (end != p)
            out[n++] = value;
        p = end == p ? p + 1 : end;
    }
    free(text);
    return n;
}

static double sum_of_window(const char *trace, double begin_s, double end_s)
{
    size_t length;
    char *bytes = test_read_file(trace, &length);
    assert_non_null(bytes);
    float rate;
    memcpy(&rate, bytes + 1, 4);
    struct integrator in = {.period_s = 1 / rate};
    struct curve curve;
    curve_init(&curve, 1 << 20);
    curve_append(&curve, (struct curve_point){0});
    for (size_t i = 0; 5 + 4 * i + 4 <= length; i++) {
        float microjoules;
        memcpy(&microjoules, bytes + 5 + 4 * i, 4);
        int64_t end_ns = (int64_t)llround((double)(i + 1) / rate * 1e9);
        if (integrate_energy(&in, end_ns, true, microjoules * 1e-6) == INTEGRATE_MOVED)
            curve_append(&curve, (struct curve_point){
                                     .time_ns = in.last_ns, .joules = in.joules, .covered_s = in.covered_s});
    }
    struct curve_traits traits = {.cls = JOULE_CLASS_MEASURED};
    struct window w = curve_window(&curve, &traits, llround(begin_s * rate) * (int64_t)(1e9 / rate),
                                   llround(end_s * rate) * (int64_t)(1e9 / rate));
    curve_free(&curve);
    free(bytes);
    return w.joules.value;
}

static void test_mlperf_tiny_windows(void **state)
{
    (void)state;
    glob_t traces = files("mlperf-tiny/*/trace1-energy.bin");
    int windows = 0;
    for (size_t f = 0; f < traces.gl_pathc; f++) {
        double edges[64];
        size_t n = read_numbers(beside(traces.gl_pathv[f], "trace1-timestamps.json"), edges, 64);
        char *results = test_read_file(beside(traces.gl_pathv[f], "results.txt"), NULL);
        assert_non_null(results);
        for (char *line = strstr(results, "Energy data for window "); line;
             line = strstr(line + 1, "Energy data for window ")) {
            int window = atoi(line + strlen("Energy data for window "));
            double figure = atof(strchr(strstr(line, "Energy  "), ':') + 1) * 1e-6;
            assert_true(window >= 1 && (size_t)window < n);
            double sum = sum_of_window(traces.gl_pathv[f], edges[window - 1], edges[window]);
            if (!(fabs(sum / figure - 1) <= 94e-6))
                fail_msg("%s window %d: %.9g J, the meter says %.9g J", traces.gl_pathv[f], window, sum,
                         figure);
            windows++;
        }
        free(results);
    }
    print_message("%d windows of %zu traces within 94 ppm\n", windows, traces.gl_pathc);
    assert_true((size_t)windows >= 5 * traces.gl_pathc);
    globfree(&traces);
}

/* --- MLPerf inference: 1 Hz watts of a certified analyzer ----------------------------------------------- */

struct analyzer {
    double mean;
    int samples;
};

/* Computes the mean power of a log. Each reading in it is the mean of one second. A negative reading marks an
 * error of the analyzer. */
static struct analyzer mean_of_log(const char *path)
{
    struct integrator in = {.period_s = 1};
    int64_t second = 0;
    char *text = test_read_file(path, NULL);
    assert_non_null(text);
    for (char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char *watts = strstr(line, ",Watts,");
        if (strncmp(line, "Time,", 5) == 0 && watts)
            integrate_energy(&in, ++second * 1000000000, true, atof(watts + 7) * in.period_s);
    }
    free(text);
    return (struct analyzer){in.joules / (double)in.samples, (int)in.samples};
}

static void test_mlperf_inference_means(void **state)
{
    (void)state;
    glob_t logs = files("mlperf-inference/*/*/spl.txt");
    int equal = 0, same_count = 0;
    for (size_t i = 0; i < logs.gl_pathc; i++) {
        struct analyzer a = mean_of_log(logs.gl_pathv[i]);
        char folder[4200];
        snprintf(folder, sizeof folder, "%s", beside(logs.gl_pathv[i], ""));
        folder[strlen(folder) - 1] = '\0';
        char *ptd = test_read_file(beside(folder, "power/ptd_logs.txt"), NULL);
        if (!ptd)
            continue;
        for (char *p = strstr(ptd, "Avg watts "); p; p = strstr(p + 1, "Avg watts ")) {
            int valid = atoi(strstr(p, "valid ") + 6);
            if (valid != a.samples)
                continue;
            same_count++;
            equal += fabs(atof(p + 10) - a.mean) < 0.51e-6;
        }
        free(ptd);
    }
    print_message("%d of %d averages with equal counts agree to 6 decimals\n", equal, same_count);
    assert_true(same_count > 0);
    assert_int_equal(equal, same_count);
    globfree(&logs);
}

/* --- Energy-Languages: wrapped package counters --------------------------------------------------------- */

static void test_wrapped_rows_of_energy_languages(void **state)
{
    (void)state;
    glob_t tables = files("energy-languages/*.csv");
    int rows = 0;
    for (size_t f = 0; f < tables.gl_pathc; f++) {
        char *text = test_read_file(tables.gl_pathv[f], NULL);
        assert_non_null(text);
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            double package, core, gpu, dram, ms;
            char *fields = strchr(line, ';');
            if (!fields ||
                sscanf(fields, "; %lf ; %lf ; %lf ; %lf ; %lf", &package, &core, &gpu, &dram, &ms) != 5 ||
                package >= 0)
                continue;
            /* The authors' tool recorded an end value below the start value. */
            struct counter c = {
                .modulus = 1ULL << 32, .unit_joules = 0x1p-14, .max_watts = 150, .tick_s = 0.001};
            uint64_t start = 4294967295u, end = start + (uint64_t)(int64_t)llround(package / c.unit_joules);
            double joules;
            counter_step(&c, 0, start, &joules);
            assert_int_equal(counter_step(&c, (int64_t)(ms * 1e6), end, &joules), COUNTER_WRAPPED);
            double watts = joules / (ms * 1e-3);
            if (!(watts >= 17.9 && watts <= 55))
                fail_msg("%s: %g W", line, watts);
            rows++;
        }
        free(text);
    }
    print_message("%d wrapped rows between 17.9 and 55 W\n", rows);
    assert_int_equal(rows, 19);
    globfree(&tables);
}

/* --- a GPU's own sensor against a 4.8 kHz meter in its supply lines ------------------------------------- */

struct stretch {
    double begin_s, end_s;
};

/* Sums the energy of the supply lines. A record has nine 16-bit numbers: the tick counter, then voltage and
 * current of each of four lines. The constants come from the notes of the recording. */
static double pmd_joules(const char *folder, struct stretch *io_common, bool whole)
{
    size_t length;
    char *start_text = test_read_file(beside(folder, "PMD_start_ts.txt"), NULL);
    char *bytes = test_read_file(folder, &length);
    assert_non_null(start_text);
    assert_non_null(bytes);
    double start_s = (strtod(start_text, NULL) - 50000) * 1e-6, t = 0;
    struct integrator in = {.period_s = 0.001};
    uint16_t previous = 0;
    for (size_t i = 0; i + 18 <= length; i += 18) {
        uint16_t v[9];
        memcpy(v, bytes + i, 18);
        t += i ? (uint16_t)(v[0] - previous) / 2934.5e3 : 0;
        previous = v[0];
        double watts = 0;
        for (int k = 0; k < 4; k++) {
            double volts = v[1 + 2 * k] & 0x8000 ? 0 : (v[1 + 2 * k] >> 4) * (k == 2 ? 0.0075 : 0.007568);
            double amps = v[2 + 2 * k] & 0x8000 ? 0 : (v[2 + 2 * k] >> 4) * 0.0488;
            watts += volts * amps;
        }
        double at = start_s + t;
        if (whole || (at >= io_common->begin_s && at <= io_common->end_s))
            integrate_power(&in, (int64_t)(at * 1e9), true, watts);
    }
    if (whole)
        *io_common = (struct stretch){start_s, start_s + t};
    free(start_text);
    free(bytes);
    return in.joules;
}

/* Returns the column as a curve. If is_exact is true, each row is a new sample at its own time. Otherwise,
 * rows are treated as polled readings, so equal rows may be one sample. */
static struct curve column_curve(const char *path, const char *column, bool is_exact,
                                 struct stretch *out_seen)
{
    char *text = test_read_file(path, NULL);
    assert_non_null(text);
    int wanted = -1, index = 0;
    char *save, *line = strtok_r(text, "\n", &save), *inner;
    for (char *name = strtok_r(line, ",", &inner); name; name = strtok_r(NULL, ",", &inner), index++)
        if (strstr(name, column) && wanted < 0)
            wanted = index;
    assert_true(wanted > 0);
    struct integrator in = {.period_s = 0.1};
    struct curve curve;
    curve_init(&curve, 1 << 20);
    *out_seen = (struct stretch){0};
    while ((line = strtok_r(NULL, "\n", &save))) {
        struct tm tm = {.tm_isdst = 0};
        int ms;
        if (sscanf(line, "%d/%d/%d %d:%d:%d.%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
                   &tm.tm_min, &tm.tm_sec, &ms) != 7)
            continue;
        tm.tm_year -= 1900;
        tm.tm_mon -= 1;
        double at_s = (double)timegm(&tm) - 3600 + ms * 1e-3; /* the clock of the log is UTC+1 */
        const char *field = line;
        for (int i = 0; i < wanted; i++)
            field = strchr(field, ',') + 1;
        if (integrate_power(&in, (int64_t)(at_s * 1e9), is_exact, atof(field)) == INTEGRATE_MOVED)
            curve_append(&curve, (struct curve_point){in.last_ns, in.joules, in.covered_s, in.variance, 0});
        curve.read_ns = (int64_t)(at_s * 1e9);
        if (out_seen->begin_s == 0)
            out_seen->begin_s = at_s;
        out_seen->end_s = at_s;
    }
    free(text);
    return curve;
}

/* Returns the time from the first to the last row within `common`, which is the time of the published
 * value. */
static struct stretch rows_within(const struct curve *curve, struct stretch common)
{
    size_t first = 0, last = curve->count - 1;
    while ((double)curve->points[first].time_ns * 1e-9 < common.begin_s)
        first++;
    while ((double)curve->points[last].time_ns * 1e-9 > common.end_s)
        last--;
    return (struct stretch){(double)curve->points[first].time_ns * 1e-9,
                            (double)curve->points[last].time_ns * 1e-9};
}

static double percent_of_pmd(const char *csv, const char *pmd, bool is_exact)
{
    struct stretch a, b, common, mine;
    struct curve curve = column_curve(csv, "power.draw", is_exact, &a);
    pmd_joules(pmd, &b, true);
    common = (struct stretch){fmax(a.begin_s, b.begin_s), fmin(a.end_s, b.end_s)};
    mine = is_exact ? rows_within(&curve, common) : common;
    struct curve_traits traits = {.cls = JOULE_CLASS_DERIVED, .tick_s = 0.1};
    struct window w =
        curve_window(&curve, &traits, (int64_t)(mine.begin_s * 1e9), (int64_t)(mine.end_s * 1e9));
    assert_true(w.covered_s > 0.99 * w.length_s);
    curve_free(&curve);
    return (w.joules.value / pmd_joules(pmd, &common, false) - 1) * 100;
}

static void compare_with_pmd(const char *trace, double expected_percent, double polled_tolerance_percent)
{
    char pattern[200], pmd[4200];
    snprintf(pattern, sizeof pattern, "gpu-pmd/%s/gpudata.csv", trace);
    glob_t found = files(pattern);
    char *csv = found.gl_pathv[0];
    snprintf(pmd, sizeof pmd, "%s", beside(csv, "PMD_data.bin"));
    double rows = percent_of_pmd(csv, pmd, true), polls = percent_of_pmd(csv, pmd, false);
    print_message("%s: board's sensor against the meter %+.2f %%, as polls %+.2f %% (published %+.2f %%)\n",
                  trace, rows, polls, expected_percent);
    assert_true(fabs(rows - expected_percent) <= 0.005);
    assert_true(fabs(polls - expected_percent) <= polled_tolerance_percent);
    globfree(&found);
}

static void test_gpu_sensors_against_an_external_meter(void **state)
{
    (void)state;
    compare_with_pmd("Transient_Response/3090_TR", -4.77, 0.15);
    compare_with_pmd("Transient_Response/A100_TR", -5.68, 0.15);
    compare_with_pmd("Transient_Response/K40m_TR", +3.34, 0.15);
    compare_with_pmd("5050/A100", -0.73, 0.3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlperf_tiny_windows),
        cmocka_unit_test(test_mlperf_inference_means),
        cmocka_unit_test(test_wrapped_rows_of_energy_languages),
        cmocka_unit_test(test_gpu_sensors_against_an_external_meter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
