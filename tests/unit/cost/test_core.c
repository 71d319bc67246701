/* Tests the costs of work on a core: the order of energies, sums, bounds of time, correlated errors, power,
 * and temperature. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"
#include "joule/cost/core.h"

#define NEAR(a, b) assert_true(fabs((double)(a) - (double)(b)) <= 1e-9 * fabs((double)(b)))

static const struct cost_cpu cpus[] = {
    {"intel", 6, 85, "", 2, 40, 80, false},     {"intel", 6, 207, "", 1, 2, 2, true},
    {"intel", 6, 158, "", 1, 8, 16, false},     {"intel", 6, 63, "", 2, 12, 24, false},
    {"intel", 6, 190, "", 1, 4, 4, false},      {"amd", 0x17, 1, "", 1, 8, 16, false},
    {"amd", 0x19, 0x11, "", 1, 96, 192, false}, {"amd", 0x1a, 0x44, "", 1, 12, 24, false},
    {"arm", 0, 0xd0c, "", 1, 80, 80, false},    {"arm", 0, 0xd03, "", 1, 4, 4, false},
    {"arm", 0, 0xd08, "", 1, 4, 4, false},      {"", 0, 0, "", 0, 0, 0, false},
};
#define EACH_CPU(cpu) for (const struct cost_cpu *cpu = cpus; cpu < cpus + sizeof cpus / sizeof *cpus; cpu++)

static const struct cost_cpu *const server = &cpus[0];
static const struct cost_cpu *const unknown = &cpus[sizeof cpus / sizeof *cpus - 1];
static const struct cost_flow no_order = {NAN, NAN};

struct bench {
    struct cost_core core;
    struct cost_table table;
};

static struct bench bench_of(const struct cost_cpu *cpu)
{
    struct bench b;
    cost_core_describe(cpu, NAN, &b.core);
    cost_core_table(cpu, &b.table);
    return b;
}

static struct cost_run run(const struct bench *b, const struct cost_features *work, struct cost_flow flow)
{
    struct cost_run run;
    cost_core_run(&b->core, &b->table, work, &flow, &run);
    return run;
}

/* Returns 1,000 units of one feature and none of the others. */
static struct cost_features only(enum cost_feature feature)
{
    struct cost_features work = {.version = COST_VERSION};
    work.amount[feature] = 1000;
    return work;
}

/* Returns the features of `rounds` iterations of a compiled loop. */
static struct cost_features loop(double rounds)
{
    struct cost_features work = {.version = COST_VERSION};
    work.amount[COST_UOPS] = 6 * rounds;
    work.amount[COST_L1_LOADS] = 2 * rounds;
    work.amount[COST_INT_OPS] = rounds;
    work.amount[COST_FP_FMAS] = rounds;
    work.amount[COST_L1_STORES] = rounds;
    work.amount[COST_BRANCHES] = rounds;
    return work;
}

static double log_sd(const struct estimate *e)
{
    return estimate_sd(e) / e->value;
}

static void test_farther_and_harder_costs_more(void **state)
{
    (void)state;
    static const enum cost_feature order[][5] = {
        {COST_INT_OPS, COST_INT_MULS, COST_INT_DIVS, 0},
        {COST_FP_OPS, COST_FP_FMAS, COST_FP_DIVS, 0},
        {COST_SIMD_256, COST_SIMD_512, 0},
        {COST_L1_LOADS, COST_L2_LINES, COST_L3_LINES, COST_DRAM_LINES, 0},
    };
    EACH_CPU(cpu)
    {
        struct bench b = bench_of(cpu);
        for (size_t i = 0; i < sizeof order / sizeof *order; i++)
            for (const enum cost_feature *at = order[i]; at[1]; at++) {
                bool is_priced = !isnan(b.table.joules[at[0]]) && !isnan(b.table.joules[at[1]]);
                if (is_priced && !(b.table.joules[at[0]] < b.table.joules[at[1]]))
                    fail_msg("%s: %s", b.table.id, cost_feature_name(at[1]));
                struct cost_features less = only(at[0]), more = only(at[1]);
                assert_true(cost_core_serial(&b.core, &less) <= cost_core_serial(&b.core, &more));
            }
    }
}

static void test_table_prices_one_kind_of_features(void **state)
{
    (void)state;
    EACH_CPU(cpu)
    {
        struct cost_table above;
        struct bench b = bench_of(cpu);
        cost_cpu_table(cpu, &above);
        assert_true(isnan(b.table.joules[COST_CORE_SECONDS]) && isnan(above.joules[COST_CYCLES]));
        NEAR(b.table.joules[COST_PACKAGE_SECONDS], above.joules[COST_PACKAGE_SECONDS]);
        assert_int_equal(b.table.cls, JOULE_CLASS_ASSUMED);
        assert_true(b.table.instance == b.core.instance && b.table.instance == above.instance);
        assert_true(strncmp(b.table.id, "core-seed-1/", 12) == 0 &&
                    strlen(b.table.id) < sizeof b.table.id - 1);
        assert_true(strlen(b.table.source) > 0 && strlen(b.core.id) > 0);
    }
}

static void test_every_row_is_whole(void **state)
{
    (void)state;
    EACH_CPU(cpu)
    {
        struct bench b = bench_of(cpu);
        for (int i = COST_UOPS; i <= COST_DRAM_LINES; i++)
            assert_true(i == COST_MISPREDICTS || b.core.per_cycle[i] > 0);
        for (int i = COST_UOPS; i <= COST_BRANCHES; i++)
            assert_true(b.core.per_cycle[i] <= b.core.per_cycle[COST_UOPS]);
        assert_true(b.core.window >= 0 && b.core.window <= 1000);
        assert_true(b.core.latency[COST_MISPREDICTS] >= 8 && b.core.package_share <= 1);
        assert_true(b.core.cache_bytes[COST_L1] < b.core.cache_bytes[COST_L2]);
        assert_true(b.core.hz > 1e9 && b.core.hz < 6e9);
    }
    struct cost_core unknown_core;
    cost_core_describe(unknown, NAN, &unknown_core);
    /* all CPUs of the table with this model number are of other vendors */
    assert_string_equal(unknown_core.id, "generic");
    for (size_t i = 0; &cpus[i] != unknown; i++)
        assert_string_not_equal(bench_of(&cpus[i]).core.id, "generic");
}

static void test_amounts_add_up(void **state)
{
    (void)state;
    struct bench b = bench_of(server);
    struct cost_features one = loop(1000), three = loop(3000);
    struct cost_run a = run(&b, &one, no_order), c = run(&b, &three, no_order);
    NEAR(c.cycles.est, 3 * a.cycles.est);
    NEAR(c.seconds.high, 3 * a.seconds.high);
    NEAR(c.energy.total.value, 3 * a.energy.total.value);
    NEAR(c.watts.value, a.watts.value);
    double sum = 0;
    for (int i = 0; i < COST_FEATURES; i++)
        sum += a.energy.part[i].value;
    NEAR(a.energy.total.value, sum);
    NEAR(a.energy.part[COST_CYCLES].value, a.cycles.est * b.table.joules[COST_CYCLES]);
    NEAR(a.seconds.est * a.watts.value, sum);
    NEAR(a.cycles.est, a.seconds.est * b.core.hz);
}

static void test_more_work_takes_more(void **state)
{
    (void)state;
    static const struct cost_flow flows[] = {{NAN, NAN}, {0, 1}, {5000, 0}};
    EACH_CPU(cpu)
    for (size_t f = 0; f < sizeof flows / sizeof *flows; f++)
        for (int i = COST_UOPS; i < COST_FEATURES; i++) {
            struct bench b = bench_of(cpu);
            if (isnan(b.table.joules[i]))
                continue;
            struct cost_features less = loop(1000), more = less;
            more.amount[i] += 500;
            struct cost_run a = run(&b, &less, flows[f]), c = run(&b, &more, flows[f]);
            if (!(c.energy.total.value > a.energy.total.value && c.cycles.est >= a.cycles.est * (1 - 1e-12)))
                fail_msg("%s: %s", b.core.id, cost_feature_name((enum cost_feature)i));
            more.amount[i] += 1e6;
            assert_true(run(&b, &more, flows[f]).energy.total.value > c.energy.total.value);
        }
}

static void test_time_lies_between_the_bounds(void **state)
{
    (void)state;
    EACH_CPU(cpu)
    {
        struct bench b = bench_of(cpu);
        struct cost_features work = loop(1000);
        work.amount[COST_MISPREDICTS] = 20;
        work.amount[COST_L2_LINES] = 100;
        double flat = cost_core_throughput(&b.core, &work), serial = cost_core_serial(&b.core, &work);
        struct cost_range open = cost_core_cycles(&b.core, &work, &no_order);
        assert_true(flat < open.est && open.est < serial);
        /* the interval also includes the error of the description of the core */
        assert_true(open.low < flat && serial < open.high);

        /* A known dependence chain narrows the interval of the time. A chain that is long enough determines
         * the time. */
        struct cost_flow none = {0, 1}, chain = {10 * serial, 1};
        struct cost_range free = cost_core_cycles(&b.core, &work, &none),
                          bound = cost_core_cycles(&b.core, &work, &chain);
        assert_true(free.low < free.est && free.est < free.high &&
                    free.high / free.low < open.high / open.low);
        assert_true(free.est < open.est && bound.est > 10 * serial * (1 - 1e-12) && bound.est < 13 * serial);
        struct cost_flow random = {0, 0};
        assert_true(cost_core_cycles(&b.core, &work, &random).est > free.est);
    }
}

static void test_limits_of_a_core(void **state)
{
    (void)state;
    struct cost_core core;
    /* the core is a Skylake: 4 wide, with 2 loads, 1 store and 1 multiplication per cycle */
    cost_core_describe(server, 2e9, &core);
    NEAR(core.hz, 2e9);
    static const struct {
        enum cost_feature feature;
        double cycles;
    } cases[] = {{COST_UOPS, 250},      {COST_L1_LOADS, 500},     {COST_L1_STORES, 1000},
                 {COST_INT_MULS, 1000}, {COST_FP_FMAS, 500},      {COST_INT_DIVS, 6000},
                 {COST_BRANCHES, 500},  {COST_MISPREDICTS, 16000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cost_features work = only(cases[i].feature);
        NEAR(cost_core_throughput(&core, &work), cases[i].cycles);
    }
    struct cost_features floats = only(COST_FP_FMAS);
    floats.amount[COST_FP_OPS] = 1000; /* these operations use the same two units */
    NEAR(cost_core_throughput(&core, &floats), 1000);
    /* A chain of 60 cycles that restarts overlaps the next chain. The window holds 224 micro-operations. If a
     * chain has 224 of them, the whole next chain fits, and a chain costs 60 / 2 cycles. If it has 448, half
     * of the next chain fits, and a chain costs 60 / 1.5 cycles. */
    NEAR(cost_core_restarted(&core, 60, 224), 30);
    NEAR(cost_core_restarted(&core, 60, 448), 40);
    NEAR(cost_core_restarted(&core, 60, 0), 60);
    NEAR(cost_core_restarted(&core, 0, 10), 0);
    /* The time for memory does not depend on the core's frequency. */
    struct cost_features lines = only(COST_DRAM_LINES);
    NEAR(cost_core_throughput(&core, &lines) / core.hz, 1000 * 64 / 12e9);
    NEAR(cost_core_serial(&core, &lines) / core.hz, 1000 * 90e-9);
}

static void test_the_level_that_holds(void **state)
{
    (void)state;
    struct cost_core core;
    cost_core_describe(server, NAN, &core);
    assert_int_equal(cost_core_level(&core, 0), COST_L1);
    assert_int_equal(cost_core_level(&core, 32 * 1024), COST_L1);
    assert_int_equal(cost_core_level(&core, 32 * 1024 + 1), COST_L2);
    assert_int_equal(cost_core_level(&core, 2 << 20), COST_L3);
    assert_int_equal(cost_core_level(&core, 1e9), COST_DRAM);
    assert_int_equal(cost_core_level(&core, NAN), COST_DRAM);
    core.cache_bytes[COST_L3] = 0; /* a core without L3 */
    assert_int_equal(cost_core_level(&core, 2 << 20), COST_DRAM);
}

static void test_no_work_costs_nothing_and_unknown_work_is_unknown(void **state)
{
    (void)state;
    struct bench b = bench_of(server);
    struct cost_features nothing = {.version = COST_VERSION}, broken = loop(10), other = loop(10);
    struct cost_run r = run(&b, &nothing, no_order);
    assert_true(r.cycles.low == 0 && r.cycles.est == 0 && r.cycles.high == 0 && r.energy.total.value == 0);
    assert_true(isnan(r.watts.value));
    broken.amount[COST_BRANCHES] = NAN;
    r = run(&b, &broken, no_order);
    assert_true(isnan(r.cycles.low) && isnan(r.seconds.est) && isnan(r.energy.total.value) &&
                isnan(r.watts.value));
    static const double bad[] = {NAN, -1, INFINITY};
    for (size_t i = 0; i < 3; i++) {
        broken.amount[COST_BRANCHES] = bad[i];
        assert_true(isnan(cost_core_cycles(&b.core, &broken, &no_order).est));
    }
    assert_true(isnan(cost_core_throughput(&b.core, &broken)) && isnan(cost_core_serial(&b.core, &broken)));
    other.version++;
    assert_true(isnan(run(&b, &other, no_order).energy.total.value));

    struct bench small = bench_of(&cpus[9]);
    struct cost_features wide = only(COST_SIMD_512); /* this core lacks the feature */
    assert_true(isnan(run(&small, &wide, no_order).energy.total.value));
}

/* Two programs on one machine: the ratio of their costs is more certain than each cost. */
static void test_ratios_are_better_than_values(void **state)
{
    (void)state;
    static const struct cost_flow known = {0, 1};
    EACH_CPU(cpu)
    {
        struct bench b = bench_of(cpu);
        struct cost_features one = loop(1000), other = loop(1000);
        other.amount[COST_FP_DIVS] += 100;
        other.amount[COST_DRAM_LINES] += 20;
        struct estimate a = run(&b, &one, known).energy.total, c = run(&b, &other, known).energy.total;
        /* the logarithm of the ratio c / a, to first order */
        struct estimate ratio = estimate_add(estimate_scale(c, 1 / c.value), -1 / a.value, &a);
        assert_true(log_sd(&a) > 0.4 && log_sd(&c) > 0.4);
        assert_true(estimate_sd(&ratio) < 0.6 * log_sd(&a));
        joule_quantity q = estimate_quantity(&a);
        assert_true(q.high / q.value > 2 && q.value / q.low < 8);
    }
}

static void test_an_unknown_machine_is_less_sure(void **state)
{
    (void)state;
    struct bench none = bench_of(unknown);
    struct cost_features work = loop(1000);
    struct cost_run general = run(&none, &work, no_order);
    for (size_t i = 0; &cpus[i] != unknown; i++) {
        struct bench b = bench_of(&cpus[i]);
        struct cost_run known = run(&b, &work, no_order);
        assert_true(log_sd(&known.energy.total) < log_sd(&general.energy.total));
        assert_true(b.core.log_sd < none.core.log_sd);
    }
    struct cost_core given, typical;
    cost_core_describe(server, 3e9, &given);
    cost_core_describe(server, NAN, &typical);
    assert_true(given.hz_log_sd < typical.hz_log_sd);
}

/* The power of a busy core can be computed in two ways: from the energies of its operations, and from
 * measurements of whole servers. Both results must be near each other. */
static void test_both_kinds_of_features_agree(void **state)
{
    (void)state;
    double sum = 0;
    EACH_CPU(cpu)
    {
        struct cost_table above;
        struct bench b = bench_of(cpu);
        struct cost_features work = loop(1e6);
        work.amount[COST_L2_LINES] = 3e4;
        work.amount[COST_MISPREDICTS] = 3e3;
        struct cost_run below = run(&b, &work, no_order);
        cost_cpu_table(cpu, &above);
        double core = above.joules[COST_CORE_SECONDS] + above.joules[COST_CUBIC_SECONDS];
        double own = below.watts.value *
                     (1 - below.energy.part[COST_PACKAGE_SECONDS].value / below.energy.total.value);
        print_message("%-32s %5.2f W from below, %5.2f W from above, %4.2f uops a cycle\n", b.table.id, own,
                      core, work.amount[COST_UOPS] / below.cycles.est);
        assert_true(own > core / 6 && own < core * 6);
        sum += log(own / core);
    }
    assert_true(fabs(sum) < log(2) * (double)(sizeof cpus / sizeof *cpus));
}

/* A product of two 64 x 64 integer matrices uses between 0.1 and 10 mJ. It has 262,144 iterations of two
 * loads, a multiplication and an addition, compiled without vectors. */
static void test_a_matrix_product_is_plausible(void **state)
{
    (void)state;
    const double rounds = 64 * 64 * 64;
    struct cost_features work = {.version = COST_VERSION};
    work.amount[COST_UOPS] = 6 * rounds;
    work.amount[COST_L1_LOADS] = 2 * rounds;
    work.amount[COST_INT_MULS] = rounds;
    work.amount[COST_INT_OPS] = 2 * rounds;
    work.amount[COST_BRANCHES] = rounds;
    EACH_CPU(cpu)
    {
        struct bench b = bench_of(cpu);
        struct cost_run r = run(&b, &work, no_order);
        joule_quantity q = estimate_quantity(&r.energy.total);
        if (!(q.value > 1e-4 && q.value < 1e-2 && r.seconds.est > 5e-5 && r.seconds.est < 2e-3))
            fail_msg("%s: %g J in %g s", b.table.id, q.value, r.seconds.est);
        assert_true(r.watts.value > 0.1 && r.watts.value < 20);
    }
    struct bench laptop = bench_of(&cpus[1]); /* a laptop measured 0.35 ms and 2 to 3.5 mJ, at 5 to 10 W */
    struct cost_run r = run(&laptop, &work, no_order);
    joule_quantity q = estimate_quantity(&r.energy.total);
    print_message("64^3: %.2f mJ [%.2f %.2f], %.2f ms [%.2f %.2f]\n", 1e3 * q.value, 1e3 * q.low,
                  1e3 * q.high, 1e3 * r.seconds.est, 1e3 * r.seconds.low, 1e3 * r.seconds.high);
    assert_true(r.seconds.low < 0.35e-3 && 0.35e-3 < r.seconds.high);
    assert_true(q.low < 3.5e-3 && q.high > 2e-3);
}

static void test_sustained_power_raises_the_temperature(void **state)
{
    (void)state;
    struct cost_cooling cooling;
    cost_cooling_describe(server, &cooling);
    assert_true(cooling.kelvin_per_watt > 0.1 && cooling.kelvin_per_watt < 1);
    struct estimate watts = estimate_make(4, JOULE_CLASS_MODELLED, 1, CAUSE_NONE, 0);
    struct estimate sustained = cost_cooling_rise(&cooling, &watts, INFINITY);
    NEAR(sustained.value, 4 * cooling.kelvin_per_watt);
    assert_int_equal(sustained.cls, JOULE_CLASS_ASSUMED);
    assert_true(log_sd(&sustained) > 0.4);
    /* After a microsecond, the rise is the energy divided by the heat capacity. */
    struct estimate brief = cost_cooling_rise(&cooling, &watts, 1e-6);
    double capacity = cooling.seconds / cooling.kelvin_per_watt;
    assert_true(fabs(brief.value / (4e-6 / capacity) - 1) < 1e-6 && brief.value < 1e-3);
    assert_true(log_sd(&brief) > log_sd(&sustained)); /* the error of the time constant is added */
    double last = 0;
    for (double s = 0.1; s < 1e3; s *= 2) {
        double rise = cost_cooling_rise(&cooling, &watts, s).value;
        assert_true(rise > last && rise <= sustained.value);
        last = rise;
    }
    assert_true(cost_cooling_rise(&cooling, &watts, 0).value == 0);
    assert_true(isnan(cost_cooling_rise(&cooling, &watts, NAN).value));
    assert_true(isnan(cost_cooling_rise(&cooling, &watts, -1).value));
    struct estimate none = estimate_unknown();
    assert_true(isnan(cost_cooling_rise(&cooling, &none, 1).value));
    EACH_CPU(cpu)
    {
        cost_cooling_describe(cpu, &cooling);
        assert_true(cooling.kelvin_per_watt > 0.05 && cooling.kelvin_per_watt < 20 && cooling.seconds > 0);
    }
}

/* Temperature changes the leakage of an idle package, but not its switching power. */
static void test_a_warm_package_leaks(void **state)
{
    (void)state;
    struct bench cool = bench_of(server), warm = cool;
    cost_table_warm(&warm.table, 20);
    struct cost_features work = loop(1000);
    struct cost_run a = run(&cool, &work, no_order), c = run(&warm, &work, no_order);
    NEAR(c.energy.part[COST_PACKAGE_SECONDS].value, a.energy.part[COST_PACKAGE_SECONDS].value * exp(0.2));
    NEAR(c.energy.part[COST_UOPS].value, a.energy.part[COST_UOPS].value);
    NEAR(c.seconds.est, a.seconds.est);
    assert_true(log_sd(&c.energy.part[COST_PACKAGE_SECONDS]) > log_sd(&a.energy.part[COST_PACKAGE_SECONDS]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_farther_and_harder_costs_more),
        cmocka_unit_test(test_table_prices_one_kind_of_features),
        cmocka_unit_test(test_every_row_is_whole),
        cmocka_unit_test(test_amounts_add_up),
        cmocka_unit_test(test_more_work_takes_more),
        cmocka_unit_test(test_time_lies_between_the_bounds),
        cmocka_unit_test(test_limits_of_a_core),
        cmocka_unit_test(test_the_level_that_holds),
        cmocka_unit_test(test_no_work_costs_nothing_and_unknown_work_is_unknown),
        cmocka_unit_test(test_ratios_are_better_than_values),
        cmocka_unit_test(test_an_unknown_machine_is_less_sure),
        cmocka_unit_test(test_both_kinds_of_features_agree),
        cmocka_unit_test(test_a_matrix_product_is_plausible),
        cmocka_unit_test(test_sustained_power_raises_the_temperature),
        cmocka_unit_test(test_a_warm_package_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
