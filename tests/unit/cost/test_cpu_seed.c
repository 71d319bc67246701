/* Tests the CPU seeds (figures for each family of CPUs) against measured machines: packages that RAPL
 * measured, and whole servers that were measured at the plug. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"
#include "joule/cost/cost.h"
#include "support/test_data.h"

static struct cost_features features(double packages, double cores, double cubic, double shared)
{
    return (struct cost_features){COST_VERSION, {packages, cores, cubic, shared}};
}

/* Returns the whole file. If the file is missing, test_data prints the reason, and the program exits as
 * skipped. */
static char *read_data(const char *relative)
{
    const char *path = test_data(relative);
    size_t length;
    char *text = path ? test_read_file(path, &length) : NULL;
    if (!text)
        exit(TEST_SKIPPED);
    return text;
}

struct comparison {
    unsigned rows, inside;
    double log_sum, log_worst;
};

/* Returns column number `index` of a comma-separated line. */
static double column(const char *line, int index)
{
    double value = NAN;
    while (index-- && line)
        line = strchr(line, ',') ? strchr(line, ',') + 1 : NULL;
    return line && string_scan_double(line, &value) ? value : NAN;
}

/* Compares the model with each row of a file. Each row describes a load of 30 s on some or all cores. It
 * contains the RAPL energy in kWh that CodeCarbon read. */
static void compare_file(const char *name, const struct cost_cpu *cpu, double reference_mhz,
                         struct comparison *comparison)
{
    enum { LOAD = 5, MHZ = 7, KWH = 9, DURATION = 15 };
    char path[128];
    snprintf(path, sizeof path, "power/codecarbon-rapl-load/%s", name);
    char *text = read_data(path);
    struct cost_table table;
    cost_cpu_table(cpu, &table);
    for (const char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        double share = fmin(column(line + 1, LOAD) / 100, 1);
        double watts = column(line + 1, KWH) * 3.6e6 / column(line + 1, DURATION);
        double busy = (1 - (1 - share) * (1 - share)) * cpu->cores;
        double cubic = pow(column(line + 1, MHZ) / reference_mhz, 3);
        struct cost_features f = features(cpu->packages, busy, busy * cubic, share * cpu->threads - busy);
        struct estimate e = cost_of(&table, &f).total;
        joule_quantity q = estimate_quantity(&e);
        double miss = log(q.value / watts);
        comparison->rows++;
        comparison->inside += q.low <= watts && watts <= q.high;
        comparison->log_sum += miss;
        comparison->log_worst = fmax(comparison->log_worst, fabs(miss));
        if (getenv("VERBOSE"))
            print_message("%-36s load %3.0f %% %6.1f W modelled %6.1f [%.1f %.1f]\n", name, 100 * share,
                          watts, q.value, q.low, q.high);
    }
    free(text);
}

static void test_seeds_against_rapl(void **state)
{
    (void)state;
    static const struct cost_cpu e3 = {"intel", 6, 58, "", 1, 4, 8, false},
                                 e5 = {"intel", 6, 63, "", 2, 12, 24, false},
                                 siena = {"amd", 0x19, 0xa0, "", 1, 8, 16, false},
                                 ryzen = {"amd", 0x17, 1, "", 1, 16, 32, false};
    struct comparison all = {0};
    /* E5-1240_*.csv is not used: it is the same machine as E3-1240, and its values count package and cores
     * twice. */
    compare_file("E3-1240_all_cores.csv", &e3, 3600, &all);
    compare_file("E3-1240_some_cores.csv", &e3, 3600, &all);
    compare_file("E5-2620_all_cores.csv", &e5, 2770, &all);
    compare_file("E5-2620_some_cores.csv", &e5, 2770, &all);
    compare_file("AMD_EPYC_8024P_8C_all_cores.csv", &siena, 2690, &all);
    compare_file("AMD_EPYC_8024P_8C_some_cores.csv", &siena, 2690, &all);
    compare_file("AMD_Threadripper_all_cores.csv", &ryzen, 3400, &all);
    compare_file("AMD_Threadripper_some_cores.csv", &ryzen, 3400, &all);
    print_message("%u loads on 4 machines: %u within the 90 %% interval, mean factor %.2f, worst %.2f\n",
                  all.rows, all.inside, exp(all.log_sum / all.rows), exp(all.log_worst));
    assert_true(all.rows > 80);
    assert_true(all.inside >= 0.85 * all.rows);
    assert_true(fabs(all.log_sum / all.rows) < log(1.5));
    assert_true(all.log_worst < log(4));
}

/* The six numbers before the column `description` in a line of SPECpower results. */
struct plug {
    double busy_watts, idle_watts, cores, chips, cores_per_chip, threads_per_core;
};

static struct plug read_plug(const char *description)
{
    double numbers[6];
    for (int i = 5; i >= 0; i--) {
        while (*--description != ',')
            ;
        assert_non_null(string_scan_double(description + 1, &numbers[i]));
    }
    return (struct plug){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
}

/* Compares the model's watts of a package with the plug's watts per chip, for all servers with the chip
 * `description`. Sets the geometric means of the ratios, busy and idle, and returns the number of servers. */
static size_t compare_plugs(const char *text, const char *description, const struct cost_cpu *cpu,
                            double *out_busy, double *out_idle)
{
    struct cost_table table;
    cost_cpu_table(cpu, &table);
    struct cost_features full = features(1, cpu->cores, cpu->cores, cpu->cores), idle = features(1, 0, 0, 0);
    double busy_sum = 0, idle_sum = 0;
    size_t results = 0;
    for (const char *at = text; (at = strstr(at, description)) != NULL; at++, results++) {
        struct plug plug = read_plug(at);
        busy_sum += log(cost_joules(&table, &full) / (plug.busy_watts / plug.chips));
        idle_sum += log(cost_joules(&table, &idle) / (plug.idle_watts / plug.chips));
    }
    *out_busy = exp(busy_sum / (double)results);
    *out_idle = exp(idle_sum / (double)results);
    return results;
}

/* A package uses between a half and almost all of its server's power under load, and less when the server is
 * idle. The seed's rows are medians of these results, so this test finds typing errors and rows that do not
 * fit their family. */
static void test_seeds_against_the_plug(void **state)
{
    (void)state;
    static const struct {
        const char *description;
        struct cost_cpu cpu;
    } cases[] = {
        {",Intel Xeon Platinum 8180,", {"intel", 6, 85, "", 1, 28, 56, false}},
        {",Intel Xeon Platinum 8490H,", {"intel", 6, 143, "", 1, 60, 120, false}},
        {",Intel Xeon Platinum 8592+,", {"intel", 6, 207, "", 1, 64, 128, false}},
        {",Intel Xeon E5-2699 v3,", {"intel", 6, 63, "", 1, 18, 36, false}},
        {",Intel Xeon E-2388G,", {"intel", 6, 167, "", 1, 8, 16, false}},
        {",AMD EPYC 7742,", {"amd", 0x17, 0x31, "", 1, 64, 128, false}},
        {",AMD EPYC 9654,", {"amd", 0x19, 0x11, "", 1, 96, 192, false}},
        {",AMD EPYC 9754,", {"amd", 0x19, 0xa0, "", 1, 128, 256, false}},
    };
    char *text = read_data("power/specpower/SPECpower-2026-03-09.csv");
    size_t results = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double busy, idle;
        results += compare_plugs(text, cases[i].description, &cases[i].cpu, &busy, &idle);
        print_message("%-30s busy %.2f, idle %.2f of the plug\n", cases[i].description, busy, idle);
        assert_true(busy > 0.5 && busy < 0.95 && idle > 0.25 && idle < 0.7);
    }
    free(text);
    assert_true(results > 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds_against_rapl),
        cmocka_unit_test(test_seeds_against_the_plug),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
