/* Tests the fits of joule calibrate on simulated machines whose parameters are known. The true parameters lie
 * in the fitted intervals, predictions for omitted kernels are within the stated error, and impossible
 * machines are refused.
 *
 * Kernels are the real ones; their times and joules are simulated. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"
#include "calibrate/kernels.h"
#include "joule/cost/fit.h"
#include "support/chance.h"
#include "support/check.h"

static const struct cost_cpu cpu = {"intel", 6, 85, "", 2, 40, 80, false};

/* A simulated machine (core, table), the typical machine of its family (typical, guessed), and measurements
 * of all kernels. */
struct world {
    struct cost_core typical, core;
    struct cost_table guessed, table;
    struct fit_kernel kernels[FIT_MAX_KERNELS];
    size_t count;
};

static double near(double log_sd)
{
    return exp(log_sd * chance_normal());
}

static void make_machine(struct world *w, double log_sd)
{
    cost_core_describe(&cpu, 3e9, &w->typical);
    cost_core_table(&cpu, &w->guessed);
    w->core = w->typical;
    w->table = w->guessed;
    double size = near(0.5);
    for (int i = 0; i < COST_FEATURES; i++) {
        w->core.per_cycle[i] *= near(log_sd);
        if (i != COST_INT_OPS)
            w->core.latency[i] *= near(log_sd);
        w->table.joules[i] *= size * near(log_sd);
    }
}

static double joules_of(const struct world *w, const struct fit_kernel *k)
{
    struct cost_features work = k->work;
    work.amount[COST_CYCLES] = k->family == FIT_IDLE ? 0 : k->cycles;
    work.amount[COST_PACKAGE_SECONDS] = k->seconds;
    return cost_joules(&w->table, &work);
}

/* Simulates times and joules of all kernels on this machine, with noise of this relative size. */
static void measure(struct world *w, double noise)
{
    w->count = 0;
    for (size_t i = 0; i <= kernel_count; i++) {
        struct fit_kernel *k = &w->kernels[w->count++];
        if (i < kernel_count)
            kernel_describe(&kernels[i], k);
        else
            *k = (struct fit_kernel){.name = "idle", .family = FIT_IDLE, .work.version = COST_VERSION};
        k->cycles = i < kernel_count ? fit_cycles(&w->core, k) : NAN;
        k->seconds = i < kernel_count ? k->cycles / w->core.hz : 1;
        k->joules = joules_of(w, k) * near(noise);
        k->cycles *= near(noise);
        k->cycles_log_sd = k->joules_log_sd = noise;
    }
}

static struct world world_of(double log_sd, double noise)
{
    static struct world w;
    make_machine(&w, log_sd);
    measure(&w, noise);
    return w;
}

static joule_status fit_time(const struct world *w, struct cost_speeds *out, struct fit_errors *errors,
                             joule_error *error)
{
    return fit_speeds(w->kernels, w->count, &w->typical, out, errors, error);
}

static struct fit_kernel *find(struct world *w, const char *name)
{
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->kernels[i].name, name) == 0)
            return &w->kernels[i];
    fail_msg("no kernel '%s'", name);
    return NULL;
}

/* --- time ----------------------------------------------------------------------------------------------- */

static void test_the_typical_machine_is_found_as_it_is(void **state)
{
    (void)state;
    struct world w = world_of(0, 0);
    struct cost_speeds speeds;
    struct fit_errors errors;
    assert_int_equal(fit_time(&w, &speeds, &errors, NULL), JOULE_OK);
    for (int i = COST_UOPS; i <= COST_DRAM_LINES; i++) {
        if (!isnan(speeds.per_cycle[i].value))
            assert_true(fabs(speeds.per_cycle[i].value / w.core.per_cycle[i] - 1) < 1e-3);
        if (!isnan(speeds.latency[i].value))
            assert_true(fabs(speeds.latency[i].value / w.core.latency[i] - 1) < 1e-3);
    }
    assert_true(errors.residual_log_sd < 1e-3 && errors.log_sd < 1e-3);
    assert_true(isnan(speeds.per_cycle[COST_MISPREDICTS].value) &&
                isnan(speeds.latency[COST_BRANCHES].value));
}

/* Each of these terms has its own kernel, which measures no other term. */
static void test_times_come_back_within_their_ends(void **state)
{
    (void)state;
    static const enum cost_feature rates[] = {COST_UOPS,    COST_INT_DIVS, COST_FP_DIVS,    COST_L1_STORES,
                                              COST_ATOMICS, COST_L2_LINES, COST_DRAM_LINES, COST_INT_MULS};
    static const enum cost_feature latencies[] = {
        COST_INT_MULS, COST_INT_DIVS, COST_FP_OPS,   COST_FP_FMAS,    COST_FP_DIVS,
        COST_L1_LOADS, COST_L2_LINES, COST_L3_LINES, COST_DRAM_LINES, COST_MISPREDICTS};
    size_t all = 0, within = 0, fitted = 0;
    for (int draw = 0; draw < 12; draw++) {
        struct world w = world_of(0.25, 0.02);
        struct cost_speeds speeds;
        struct fit_errors errors;
        joule_error error;
        /* an invalid random machine, whose fit is refused, does not count */
        if (fit_time(&w, &speeds, &errors, &error) != JOULE_OK)
            continue;
        fitted++;
        assert_true(errors.residual_log_sd < 0.08);
        for (size_t i = 0; i < sizeof rates / sizeof *rates; i++, all++) {
            const struct cost_term *term = &speeds.per_cycle[rates[i]];
            within += term->low <= w.core.per_cycle[rates[i]] && w.core.per_cycle[rates[i]] <= term->high;
        }
        for (size_t i = 0; i < sizeof latencies / sizeof *latencies; i++, all++) {
            const struct cost_term *term = &speeds.latency[latencies[i]];
            within += term->low <= w.core.latency[latencies[i]] && w.core.latency[latencies[i]] <= term->high;
            assert_true(fabs(log(term->value / w.core.latency[latencies[i]])) < 0.3);
        }
    }
    assert_true(fitted >= 8);
    if (!(within >= 0.9 * (double)all))
        fail_msg("%zu of %zu", within, all);
}

/* --- energy --------------------------------------------------------------------------------------------- */

static void test_prices_come_back_within_their_ends(void **state)
{
    (void)state;
    size_t all = 0, within = 0, outside = 0, known = 0;
    for (int draw = 0; draw < 20; draw++) {
        struct world w = world_of(0.3, 0.02);
        struct cost_prices prices;
        struct fit_errors errors;
        joule_error error;
        assert_ok(fit_prices(w.kernels, w.count, &w.guessed, &prices, &errors, &error), &error);
        assert_true(errors.residual_log_sd < 0.05);
        for (int i = 0; i < COST_FEATURES; i++) {
            const struct cost_term *term = &prices.joules[i];
            if (isnan(term->value))
                continue;
            all++;
            within += term->low <= w.table.joules[i] && w.table.joules[i] <= term->high;
        }
        double package = prices.joules[COST_PACKAGE_SECONDS].value / w.table.joules[COST_PACKAGE_SECONDS];
        assert_true(fabs(package - 1) < 0.15);
        for (size_t i = 0; i < w.count; i++)
            if (!isnan(errors.left_out[i])) {
                known++;
                outside += fabs(errors.left_out[i]) > Z90 * prices.log_sd;
            }
    }
    assert_true(known > 0 && all > 0);
    if (!(within >= 0.85 * (double)all))
        fail_msg("%zu of %zu terms", within, all);
    double part = 1 - (double)outside / (double)known;
    if (!(part >= 0.85 && part <= 0.99))
        fail_msg("%.2f of what was left out is within", part);
}

/* The idle power of the package is separated from the power per core, even if it is almost 0. */
static void test_a_package_that_takes_nothing(void **state)
{
    (void)state;
    struct world w;
    struct cost_prices prices;
    struct fit_errors errors;
    make_machine(&w, 0);
    w.table.joules[COST_PACKAGE_SECONDS] = 1e-6;
    measure(&w, 0.01);
    assert_int_equal(fit_prices(w.kernels, w.count, &w.guessed, &prices, &errors, NULL), JOULE_OK);
    assert_true(prices.joules[COST_PACKAGE_SECONDS].high < 0.05 * w.guessed.joules[COST_PACKAGE_SECONDS]);
    assert_true(fabs(prices.joules[COST_CYCLES].value / w.table.joules[COST_CYCLES] - 1) < 0.2);
}

/* If only the kernels with dependence chains and the idle machine are measured, the prices of single
 * operations cannot be separated. The interval of each price must still contain the true price. */
static void test_classes_that_look_alike_share_a_price(void **state)
{
    (void)state;
    struct world w = world_of(0, 0.005);
    struct cost_prices prices;
    struct fit_errors errors;
    size_t kept = 0;
    for (size_t i = 0; i < w.count; i++)
        if (w.kernels[i].family == FIT_CHAINS || w.kernels[i].family == FIT_IDLE)
            w.kernels[kept++] = w.kernels[i];
    joule_error error;
    assert_ok(fit_prices(w.kernels, kept, &w.guessed, &prices, &errors, &error), &error);
    double size = w.table.joules[COST_CYCLES] / w.guessed.joules[COST_CYCLES];
    for (int i = COST_CYCLES; i < COST_FEATURES; i++)
        if (!isnan(prices.joules[i].value))
            assert_true(prices.joules[i].low <= size * w.guessed.joules[i] * 1.05 &&
                        prices.joules[i].high >= size * w.guessed.joules[i] / 1.05);
}

/* --- refused inputs ------------------------------------------------------------------------------------- */

static void assert_refused(const struct world *w, const char *word)
{
    struct cost_speeds speeds;
    struct fit_errors errors;
    joule_error error;
    if (fit_time(w, &speeds, &errors, &error) != JOULE_UNSUPPORTED)
        fail_msg("taken, with L3 at %g, DRAM at %g, products at %g and quotients at %g cycles",
                 speeds.latency[COST_L3_LINES].value, speeds.latency[COST_DRAM_LINES].value,
                 speeds.latency[COST_INT_MULS].value, speeds.latency[COST_INT_DIVS].value);
    assert_contains(error.message, word);
}

static void test_a_busy_machine_is_refused(void **state)
{
    (void)state;
    struct world w = world_of(0, 0.02);
    struct cost_speeds speeds;
    struct fit_errors errors;
    w.kernels[3].cycles_log_sd = 0.4;
    /* the fit ignores this kernel, because its times vary too much */
    assert_int_equal(fit_time(&w, &speeds, &errors, NULL), JOULE_OK);
    assert_true(isnan(errors.residual[3]));
    for (size_t i = 0; i < w.count; i += 5)
        w.kernels[i].cycles_log_sd = 0.2;
    assert_refused(&w, w.kernels[3].name);
}

static void test_a_core_out_of_order_is_refused(void **state)
{
    (void)state;
    struct world w = world_of(0, 0);
    static const char *const far[] = {"lines of DRAM, dependent", "lines of DRAM and arithmetic",
                                      "lines of DRAM, six chains"};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        find(&w, far[i])->cycles /= 12;
    assert_refused(&w, "dram_lines");
    w = world_of(0, 0);
    static const char *const products[] = {"multiply, dependent", "multiply", "hash",
                                           "additions and a multiplication"};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        find(&w, products[i])->cycles *= 15;
    assert_refused(&w, "the fit is rejected");
}

static void test_chance_is_no_core(void **state)
{
    (void)state;
    struct world w = world_of(0, 0);
    for (size_t i = 0; i < w.count; i++)
        w.kernels[i].cycles *= chance_scale(0.05, 20);
    assert_refused(&w, "the fit is rejected");
}

static void test_joules_by_chance_are_no_table(void **state)
{
    (void)state;
    struct world w = world_of(0, 0.01);
    struct cost_prices prices;
    struct fit_errors errors;
    joule_error error;
    for (size_t i = 0; i < w.count; i++)
        w.kernels[i].joules *= chance_scale(0.02, 50);
    assert_int_equal(fit_prices(w.kernels, w.count, &w.guessed, &prices, &errors, &error), JOULE_UNSUPPORTED);
    assert_contains(error.message, "the fit is rejected");
    for (size_t i = 0; i < w.count; i++)
        w.kernels[i].joules_log_sd = 0.3;
    assert_int_equal(fit_prices(w.kernels, w.count, &w.guessed, &prices, &errors, &error), JOULE_UNSUPPORTED);
    assert_contains(error.message, "--full");
}

/* All kernels run, end, and stay within their memory. Their times are not checked. */
static void test_every_kernel_runs(void **state)
{
    (void)state;
    struct cost_core core;
    struct kernel_memory memory;
    size_t families[FIT_FAMILIES] = {0}, present = 0;
    cost_core_describe(&cpu, NAN, &core);
    core.cache_bytes[COST_L3] = 4 << 20; /* a small L3 makes the arrays small */
    assert_true(kernel_memory_make(&core, &memory));
    for (size_t i = 0; i < kernel_count; i++) {
        struct kernel_state *own = &memory.of[i];
        if (!kernel_is_here(&kernels[i], &core))
            continue;
        present++;
        families[kernels[i].family]++;
        for (uint64_t rounds = 1; rounds < 5000; rounds *= 7)
            kernels[i].run(own, rounds);
        assert_true(kernels[i].layout != LAYOUT_ARRAY ||
                    (own->begin <= own->position && own->position < own->end));
    }
    assert_true(present >= 40 && kernel_count < FIT_MAX_KERNELS);
    for (int family = FIT_IDLE + 1; family < FIT_FAMILIES; family++)
        assert_true(family == FIT_VECTORS || families[family] >= 2);
    kernel_memory_free(&memory);
}

/* Each line of a ring is visited once before the first line is visited again. */
static void test_rings_hold_all_lines(void **state)
{
    (void)state;
    struct cost_core core;
    struct kernel_memory memory;
    cost_core_describe(&cpu, NAN, &core);
    core.cache_bytes[COST_L3] = 4 << 20;
    assert_true(kernel_memory_make(&core, &memory));
    for (int level = COST_L1; level < COST_LEVELS; level++) {
        const uint64_t *begin = (const uint64_t *)(const void *)memory.ring[level], *at = begin;
        size_t lines = 0;
        do {
            assert_true((const unsigned char *)at >= memory.ring[level] &&
                        (const unsigned char *)at < memory.ring[level] + memory.bytes[level]);
            at = (const uint64_t *)(uintptr_t)*at;
            lines++;
        } while (at != begin && lines <= memory.bytes[level]);
        assert_int_equal(lines, memory.bytes[level] / 64);
        assert_true(level == COST_L1 || memory.bytes[level] >= 2 * memory.bytes[level - 1]);
    }
    kernel_memory_free(&memory);
}

/* Each kind of work occurs in at least two families of kernels, so that the fit can omit one family. */
static void test_each_term_stands_twice(void **state)
{
    (void)state;
    for (int i = COST_UOPS; i <= COST_DRAM_LINES; i++) {
        bool is_in[FIT_FAMILIES] = {false};
        size_t families = 0;
        for (size_t k = 0; k < kernel_count; k++)
            is_in[kernels[k].family] |= kernels[k].amount[i] > 0;
        for (int family = 0; family < FIT_FAMILIES; family++)
            families += is_in[family];
        bool is_alone =
            /* Lines of caches and memory do not occur in `amount`, because the level of a kernel's memory
             * determines them. */
            i == COST_ATOMICS || i == COST_SIMD_512 || i >= COST_L2_LINES;
        assert_true(families >= (is_alone ? 0 : 2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_typical_machine_is_found_as_it_is),
        cmocka_unit_test(test_times_come_back_within_their_ends),
        cmocka_unit_test(test_prices_come_back_within_their_ends),
        cmocka_unit_test(test_a_package_that_takes_nothing),
        cmocka_unit_test(test_classes_that_look_alike_share_a_price),
        cmocka_unit_test(test_a_busy_machine_is_refused),
        cmocka_unit_test(test_a_core_out_of_order_is_refused),
        cmocka_unit_test(test_chance_is_no_core),
        cmocka_unit_test(test_joules_by_chance_are_no_table),
        cmocka_unit_test(test_every_kernel_runs),
        cmocka_unit_test(test_rings_hold_all_lines),
        cmocka_unit_test(test_each_term_stands_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
