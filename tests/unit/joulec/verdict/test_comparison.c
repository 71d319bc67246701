/* Checks the comparison of functions with a stored report.
 *
 * Errors common to both versions cancel, and work of only one version keeps its error. If the figure of one
 * version is unknown, the function is never reported as grown. Reports of another machine and files that are
 * not reports are refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/verdict/comparison.h"
#include "support/check.h"

#define LIMIT 0.05

static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};

static struct target target_of(void)
{
    struct target target;
    cost_core_describe(&server, NAN, &target.core);
    cost_core_table(&server, &target.table);
    return target;
}

/* Returns work with these joules for cycles, operations and lines. The lower and upper ends of its range are
 * half and twice these joules. */
static struct baseline_function work_of(double cycles, double operations, double lines)
{
    struct baseline_function f = {.name = "f"};
    double all = cycles + operations + lines;
    f.part[COST_CYCLES] = cycles;
    f.part[COST_UOPS] = operations;
    f.part[COST_DRAM_LINES] = lines;
    f.joules[BOUND_LOW] = all / 2;
    f.joules[BOUND_EST] = all;
    f.joules[BOUND_HIGH] = 2 * all;
    return f;
}

static struct growth compare(struct baseline_function before, struct baseline_function now)
{
    struct target target = target_of();
    struct growth growth;
    comparison_make(&before, &now, &target, LIMIT, &growth);
    return growth;
}

static void test_same_work_has_no_error(void **state)
{
    (void)state;
    struct growth g = compare(work_of(1, 2, 3), work_of(1, 2, 3));
    assert_int_equal(g.change, CHANGE_NONE);
    assert_true(g.ratio == 1 && g.low == 1 && g.high == 1 && g.probability == 1);
}

/* Returns the value after it was stored in a report, which has 12 digits. */
static double stored(double joules)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.12g", joules);
    return strtod(digits, NULL);
}

static void test_rounding_of_a_report_is_no_change(void **state)
{
    (void)state;
    for (int i = 1; i <= 200; i++) {
        struct baseline_function now = work_of(1e-9 / (3 + i), 1e-7 / (7 * i), 3e-8 / (11 + i)), before = now;
        for (int k = 0; k < COST_FEATURES; k++)
            before.part[k] = stored(now.part[k]);
        for (int b = 0; b < BOUNDS; b++)
            before.joules[b] = stored(now.joules[b]);
        struct growth g = compare(before, now);
        assert_int_equal(g.change, CHANGE_NONE);
        assert_true(g.ratio == 1 && g.low == 1 && g.high == 1);
    }
}

static void test_more_of_the_same_mix_is_far_surer_than_its_joules(void **state)
{
    (void)state;
    struct growth g = compare(work_of(1, 2, 3), work_of(1.2, 2.4, 3.6));
    assert_int_equal(g.change, CHANGE_OVER);
    assert_true(fabs(g.ratio - 1.2) < 1e-9 && g.low < 1.2 && g.high > 1.2);
    /* the interval of the ratio is narrow, although each price is uncertain by a factor of 3 in both
     * directions */
    assert_true(g.high / g.low < 1.25);
    assert_true(g.low > 1 + LIMIT);
}

static void test_growth_is_judged_by_the_limit(void **state)
{
    (void)state;
    assert_int_equal(compare(work_of(1, 1, 1), work_of(1.01, 1.01, 1.01)).change, CHANGE_MORE);
    assert_int_equal(compare(work_of(1, 1, 1), work_of(1.048, 1.048, 1.048)).change, CHANGE_UNDECIDED);
    assert_int_equal(compare(work_of(1, 1, 1), work_of(1.06, 1.06, 1.06)).change, CHANGE_OVER);
    assert_int_equal(compare(work_of(1, 1, 1), work_of(0.5, 0.5, 0.5)).change, CHANGE_LESS);
}

static void test_another_mix_is_less_sure(void **state)
{
    (void)state;
    struct growth same = compare(work_of(1, 1, 1), work_of(1.3, 1.3, 1.3)),
                  other = compare(work_of(1, 1, 1), work_of(1, 1, 1.9));
    assert_true(other.high / other.low > same.high / same.low);
}

/* The lower ends of both ranges are compared, and so are the upper ends. If the two ratios differ, the result
 * is a range of ratios. */
static void test_ends_are_compared_with_ends(void **state)
{
    (void)state;
    struct baseline_function before = work_of(1, 1, 1), now = work_of(1.02, 1.02, 1.02);
    struct growth g = compare(before, now);
    assert_true(g.high < 1.03);
    now.joules[BOUND_HIGH] = 3 * before.joules[BOUND_HIGH];
    g = compare(before, now);
    assert_true(g.high >= 3 && g.low > 1);
    assert_int_equal(g.change, CHANGE_UNDECIDED);
}

static void test_unknown_parts_of_one_side_are_no_growth(void **state)
{
    (void)state;
    static const char *names[] = {"other"};
    struct baseline_function plain = work_of(1, 1, 1), more = work_of(3, 3, 3), calls = more, guesses = more;
    calls.missing = names;
    calls.missing_count = 1;
    guesses.guess_count = 1;
    struct growth g = compare(plain, calls);
    assert_string_equal(g.added, "other");
    assert_true(isnan(g.high) && isnan(g.probability) && g.low > 1);
    assert_int_equal(g.change, CHANGE_UNDECIDED);
    g = compare(calls, plain);
    assert_string_equal(g.removed, "other");
    assert_true(g.low == 0 && g.high < 1);
    assert_int_equal(g.change, CHANGE_LESS);
    assert_int_equal(compare(calls, calls).change, CHANGE_NONE);
    assert_int_equal(compare(plain, guesses).change, CHANGE_UNDECIDED);
    assert_int_equal(compare(guesses, guesses).change, CHANGE_NONE);
}

/* --- intervals contain the ratio ------------------------------------------------------------------------ */

static uint64_t seed = 1;

static double uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* The test draws prices within the table's errors. Both versions have the same prices. The 90 % interval is
 * computed to first order, so it must contain the ratio in at least 85 % of the draws. */
static void test_interval_holds_the_ratio_whatever_the_prices(void **state)
{
    (void)state;
    enum { TRIALS = 2000 };
    struct target target = target_of();
    struct baseline_function before = work_of(1, 2, 0.2), now = work_of(1.3, 2.1, 0.6);
    struct growth g = compare(before, now);
    int held = 0;
    double min = INFINITY, max = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        double z[COST_CAUSES], was = 0, is = 0;
        for (int cause = 0; cause < COST_CAUSES; cause++)
            z[cause] = normal();
        for (int i = 0; i < COST_FEATURES; i++) {
            double change = 0;
            for (int cause = 0; cause < COST_CAUSES; cause++)
                change += target.table.log_sd[i][cause] * z[cause];
            was += before.part[i] * exp(change);
            is += now.part[i] * exp(change);
        }
        held += is / was >= g.low && is / was <= g.high;
        min = fmin(min, was);
        max = fmax(max, was);
    }
    assert_true(held >= 0.85 * TRIALS);
    assert_true(max / min > 5 * g.high / g.low); /* joules vary more than their ratio */
}

/* --- stored reports ------------------------------------------------------------------------------------- */

#define UNIT(program, core, assumptions, functions)                                                          \
    "{\"schema\":\"joulec-report-1\",\"program\":\"" program "\",\"table\":\"%s\",\"core\":\"" core          \
    "\",\"figures\":\"%s\",\"assumptions\":\"" assumptions                                                   \
    "\",\"build\":\"-O2\",\"joulec_version\":\"1\",\"functions\":[" functions "]}\n"
#define F(name, joules)                                                                                      \
    "{\"name\":\"" name "\",\"file\":\"a.c\",\"line\":3,\"energy_joules\":" joules                           \
    ",\"compared_joules\":[" joules "," joules "],\"breakdown_joules\":{\"cycles\":" joules                  \
    "},\"loops\":[],\"doubts\":[]}"

static char text[8192];

static joule_status read_text(const char *form, struct baseline *out, joule_error *error)
{
    struct target target = target_of();
    char figures[17];
    baseline_print_figures(&target, figures);
    /* The form has at most two units; further arguments are ignored. */
    snprintf(text, sizeof text, form, target.table.id, figures, target.table.id, figures);
    return baseline_read(text, strlen(text), "base.json", out, error);
}

static void expect_refused(const char *form, const char *reason)
{
    struct baseline baseline;
    struct target target = target_of();
    struct analysis_options options = {.default_trips = NAN, .warmer_kelvin = NAN};
    joule_error error = {0};
    joule_status status = read_text(form, &baseline, &error);
    if (status == JOULE_OK)
        status = baseline_check(&baseline, &target, &options, &error);
    assert_int_equal(status, JOULE_INVALID);
    assert_contains(error.message, reason);
    baseline_free(&baseline);
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"

static void test_other_files_are_refused(void **state)
{
    (void)state;
    expect_refused("", "base.json is empty");
    expect_refused("\n \n", "base.json is empty");
    expect_refused("{", "base.json:1");
    expect_refused("[]\n", "base.json:1 is not a report of joulec");
    expect_refused("{\"schema\":\"joule-report-1\",\"functions\":[]}\n", "base.json:1 is not a report");
    expect_refused(UNIT("a.c", "skylake", "", "{}"), "base.json:1 is not a report");
    expect_refused(UNIT("a.c", "skylake", "", F("f", "1")) "\n{\"schema\":1}\n", "base.json:3");
}

static void test_other_conditions_are_refused(void **state)
{
    (void)state;
    struct target target = target_of();
    char form[1024];
    expect_refused(UNIT("a.c", "another-core", "", F("f", "1")), "the core of 'a.c' is another-core there");
    snprintf(form, sizeof form,
             "{\"schema\":\"joulec-report-1\",\"program\":\"a.c\",\"table\":\"other\",\"core\":\"%s\","
             "\"functions\":[]}\n",
             target.core.id);
    expect_refused(form, "the table of prices of 'a.c' is other there");
    snprintf(form, sizeof form,
             "{\"schema\":\"joulec-report-1\",\"program\":\"a.c\",\"table\":\"%%s\",\"core\":\"%s\","
             "\"functions\":[]}\n",
             target.core.id);
    expect_refused(form, "it was written by an older joulec");
    snprintf(form, sizeof form,
             "{\"schema\":\"joulec-report-1\",\"program\":\"a.c\",\"table\":\"%%s\",\"core\":\"%s\","
             "\"figures\":\"0000000000000000\",\"functions\":[]}\n",
             target.core.id);
    expect_refused(form, "the revision of prices");
    snprintf(form, sizeof form,
             "{\"schema\":\"joulec-report-1\",\"program\":\"a.c\",\"table\":\"%%s\",\"core\":\"%s\","
             "\"figures\":\"%%s\",\"assumptions\":\"--thermal-state=+30K\",\"functions\":[]}\n",
             target.core.id);
    expect_refused(form, "is --thermal-state=+30K there and none here");
}

static void test_a_file_is_found_by_its_path(void **state)
{
    (void)state;
    struct baseline baseline;
    joule_error error;
    static char two[] = UNIT("src/a.c", "x", "", F("f", "1")) UNIT("./lib/a.c", "x", "", F("g", "2"));
    assert_int_equal(read_text(two, &baseline, &error), JOULE_OK);
    assert_int_equal(baseline.unit_count, 2);
    assert_ptr_equal(baseline_find(&baseline, "src/a.c", ""), &baseline.units[0]);
    assert_ptr_equal(baseline_find(&baseline, "./lib/a.c", ""), &baseline.units[1]);
    assert_ptr_equal(baseline_find(&baseline, "/home/me/lib/a.c", ""), &baseline.units[1]);
    assert_ptr_equal(baseline_find(&baseline, "../src/a.c", ""), &baseline.units[0]);
    /* ambiguous: the paths of both units end with this name */
    assert_null(baseline_find(&baseline, "a.c", ""));
    assert_null(baseline_find(&baseline, "other/a.c", ""));
    assert_null(baseline_find(&baseline, "la.c", ""));
    assert_non_null(baseline_find_function(&baseline.units[0], "f"));
    assert_null(baseline_find_function(&baseline.units[0], "g"));
    baseline_free(&baseline);
}

/* --- whole files ---------------------------------------------------------------------------------------- */

struct file {
    struct analysis analysis;
    struct function functions[4];
    struct function_result results[4];
};

/* Creates a file of functions with these names and cycles. */
static void make_file(struct file *file, const char *const *names, const double *cycles, size_t count)
{
    *file =
        (struct file){.analysis = {.target = target_of(), .results = file->results, .result_count = count}};
    for (size_t i = 0; i < count; i++) {
        file->functions[i].name = names[i];
        file->results[i].function = &file->functions[i];
        for (int b = 0; b < BOUNDS; b++) {
            file->results[i].sum.call.of[b].version = COST_VERSION;
            file->results[i].sum.call.of[b].amount[COST_CYCLES] = cycles[i];
        }
    }
}

static void test_new_gone_and_renamed_functions(void **state)
{
    (void)state;
    struct file file;
    struct arena arena = {0};
    struct baseline baseline;
    struct comparisons c;
    joule_error error;
    static const char *const names[] = {"kept", "fresh", "was_old", "twin"};
    static const double cycles[] = {1000, 77, 5000, 300};
    make_file(&file, names, cycles, 4);
    double price = file.analysis.target.table.joules[COST_CYCLES];
    char form[4096], *end = form;
    end += sprintf(
        end,
        "{\"schema\":\"joulec-report-1\",\"program\":\"a.c\",\"table\":\"t\",\"core\":\"c\",\"functions\":[");
    static const char *const before[] = {"kept", "old", "twin_a", "twin_b", "removed"};
    static const double then_cycles[] = {500, 5000, 300, 300, 9};
    for (int i = 0; i < 5; i++)
        end += sprintf(end,
                       "%s{\"name\":\"%s\",\"energy_joules\":%.17g,\"compared_joules\":[%.17g,%.17g],"
                       "\"breakdown_joules\":{\"cycles\":%.17g},\"loops\":[],\"doubts\":[]}",
                       i ? "," : "", before[i], then_cycles[i] * price, then_cycles[i] * price,
                       then_cycles[i] * price, then_cycles[i] * price);
    sprintf(end, "]}\n");
    assert_int_equal(baseline_read(form, strlen(form), "base.json", &baseline, &error), JOULE_OK);
    baseline.fail_over = LIMIT;
    assert_int_equal(comparisons_make(&arena, &baseline, &file.analysis, "a.c", "", &c), JOULE_OK);
    assert_int_equal(c.of[0].change, CHANGE_OVER);
    assert_true(fabs(c.of[0].ratio - 2) < 1e-9 && !c.of[0].is_renamed);
    assert_int_equal(c.of[1].change, CHANGE_NEW);
    assert_null(c.of[1].before);
    assert_true(c.of[2].is_renamed && c.of[2].change == CHANGE_NONE);
    assert_string_equal(c.of[2].before->name, "old");
    assert_int_equal(c.of[3].change, CHANGE_NEW); /* ambiguous: two removed functions may be its old form */
    assert_int_equal(c.gone_count, 3);
    assert_string_equal(c.gone[0]->name, "removed");
    assert_int_equal(comparisons_make(&arena, &baseline, &file.analysis, "b.c", "", &c), JOULE_OK);
    assert_null(c.unit);
    for (int i = 0; i < 4; i++)
        assert_int_equal(c.of[i].change, CHANGE_NEW);
    baseline_free(&baseline);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_work_has_no_error),
        cmocka_unit_test(test_rounding_of_a_report_is_no_change),
        cmocka_unit_test(test_more_of_the_same_mix_is_far_surer_than_its_joules),
        cmocka_unit_test(test_growth_is_judged_by_the_limit),
        cmocka_unit_test(test_another_mix_is_less_sure),
        cmocka_unit_test(test_ends_are_compared_with_ends),
        cmocka_unit_test(test_unknown_parts_of_one_side_are_no_growth),
        cmocka_unit_test(test_interval_holds_the_ratio_whatever_the_prices),
        cmocka_unit_test(test_other_files_are_refused),
        cmocka_unit_test(test_other_conditions_are_refused),
        cmocka_unit_test(test_a_file_is_found_by_its_path),
        cmocka_unit_test(test_new_gone_and_renamed_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
