/* Tests the cost model: sums, unknown values, correlated errors, and the choice of a seed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"
#include "joule/cost/cost.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) <= 1e-9 * (1 + fabs(b)))

static const struct cost_cpu server = {"intel", 6,  85, "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz",
                                       2,       40, 80, false};

static struct cost_features features(double packages, double cores, double cubic, double shared)
{
    return (struct cost_features){COST_VERSION, {packages, cores, cubic, shared}};
}

static void test_a_cost_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    struct cost_table table;
    cost_cpu_table(&server, &table);
    struct cost_features f = features(10, 20, 30, 5);
    struct cost cost = cost_of(&table, &f);
    double sum = 0;
    for (int i = 0; i < COST_FEATURES; i++) {
        NEAR(cost.part[i].value, f.amount[i] == 0 ? 0 : f.amount[i] * table.joules[i]);
        sum += cost.part[i].value;
    }
    NEAR(cost.total.value, sum);
    NEAR(cost_joules(&table, &f), sum);
    assert_int_equal(cost.total.cls, JOULE_CLASS_MODELLED);
    NEAR(cost.total.by_class[JOULE_CLASS_MODELLED], sum);
    joule_quantity q = estimate_quantity(&cost.total);
    assert_true(0 < q.low && q.low < q.value && q.value < q.high);

    struct cost_features nothing = features(0, 0, 0, 0);
    assert_true(cost_of(&table, &nothing).total.value == 0);
}

static void test_work_without_price_is_unknown(void **state)
{
    (void)state;
    struct cost_table table;
    cost_cpu_table(&server, &table);
    table.joules[COST_SHARED_SECONDS] = NAN;
    struct cost_features without = features(1, 1, 1, 0), with = features(1, 1, 1, 1);
    assert_false(isnan(cost_of(&table, &without).total.value));
    assert_false(isnan(cost_joules(&table, &without)));
    assert_true(isnan(cost_of(&table, &with).total.value));
    assert_true(isnan(cost_joules(&table, &with)));
    without.version = COST_VERSION + 1;
    assert_true(isnan(cost_of(&table, &without).total.value));
    assert_true(isnan(cost_joules(&table, &without)));
}

static void test_errors_of_one_table_cancel(void **state)
{
    (void)state;
    struct cost_table table, other;
    cost_cpu_table(&server, &table);
    struct cost_features one = features(1, 2, 3, 4), two = features(2, 4, 6, 8);
    struct estimate a = cost_of(&table, &one).total, b = cost_of(&table, &two).total;
    assert_true(estimate_sd(&a) > 0.3 * a.value);
    struct estimate rest = estimate_add(b, -2, &a);
    assert_true(fabs(rest.value) < 1e-9 && estimate_sd(&rest) < 1e-9);

    /* At the reference frequency, the split of a core's power into a linear and a cubic part has no
     * effect. */
    struct cost_features core = features(0, 1, 1, 0);
    struct estimate watts = cost_of(&table, &core).total;
    for (size_t i = 0; i < ESTIMATE_CAUSES && watts.common[i].cause; i++)
        if (watts.common[i].cause == CAUSE(CAUSE_CPU_SEED, table.instance * COST_CAUSES + COST_CAUSE_SPLIT))
            assert_true(fabs(watts.common[i].sd) < 1e-9);

    struct cost_cpu different = server;
    different.model = 143;
    cost_cpu_table(&different, &other);
    struct estimate c = cost_of(&other, &one).total, difference = estimate_add(a, -1, &c);
    assert_true(estimate_sd(&difference) > estimate_sd(&a)); /* the errors of two tables are independent */
}

static void test_processors_have_the_table_of_their_family(void **state)
{
    (void)state;
    static const struct {
        struct cost_cpu cpu;
        const char *id;
    } cases[] = {
        {{"intel", 6, 207, "Intel(R) Xeon(R) Processor", 1, 2, 2, true},
         "cpu-seed-1/intel-emerald-rapids/virtual"},
        {{"intel", 6, 85, "", 2, 56, 112, false}, "cpu-seed-1/intel-skylake-server"},
        {{"intel", 6, 140, "", 1, 4, 8, false}, "cpu-seed-1/intel-mobile"},
        {{"intel", 6, 190, "", 1, 4, 4, false}, "cpu-seed-1/intel-atom"},
        {{"intel", 6, 1, "Pentium Pro", 1, 1, 1, false}, "cpu-seed-1/generic"},
        {{"amd", 0x17, 1, "AMD EPYC 7551P 32-Core Processor", 1, 32, 64, false}, "cpu-seed-1/amd-zen-server"},
        {{"amd", 0x17, 1, "AMD Ryzen 7 1700", 1, 8, 16, false}, "cpu-seed-1/amd-zen"},
        {{"amd", 0x17, 0x18, "AMD Ryzen 5 3500U", 1, 4, 8, false}, "cpu-seed-1/amd-zen-mobile"},
        {{"amd", 0x17, 0x31, "", 2, 128, 256, false}, "cpu-seed-1/amd-zen2-server"},
        {{"amd", 0x19, 0x61, "AMD EPYC 4344P", 1, 8, 16, false}, "cpu-seed-1/amd-zen4"},
        {{"amd", 0x19, 0xa0, "", 1, 8, 16, false}, "cpu-seed-1/amd-zen4c-server"},
        {{"amd", 0x1a, 0x11, "", 2, 384, 768, false}, "cpu-seed-1/amd-zen5c-server"},
        {{"amd", 0x1a, 0x02, "", 2, 192, 384, false}, "cpu-seed-1/amd-zen5-server"},
        {{"arm", 0, 0xd0c, "", 1, 64, 64, true}, "cpu-seed-1/arm-neoverse-n1/virtual"},
        {{"arm", 0, 0xd4f, "", 2, 144, 144, false}, "cpu-seed-1/arm-neoverse-v2"},
        {{"arm", 0, 0, "", 1, 8, 8, false}, "cpu-seed-1/arm-generic"},
        {{"", 0, 0, "", 0, 0, 0, false}, "cpu-seed-1/generic"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cost_table table;
        cost_cpu_table(&cases[i].cpu, &table);
        assert_string_equal(table.id, cases[i].id);
        assert_true(strlen(table.source) > 0);
    }
}

/* For any CPU, all values are positive and within the range of known CPUs. */
static void test_every_seed_is_plausible(void **state)
{
    (void)state;
    static const struct {
        const char *vendor;
        unsigned family, last;
    } ranges[] = {
        {"intel", 6, 255}, {"amd", 0x17, 255}, {"amd", 0x19, 255}, {"amd", 0x1a, 255}, {"arm", 0, 0xfff}};
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
        for (unsigned model = 0; model <= ranges[r].last; model++)
            for (int is_virtual = 0; is_virtual <= 1; is_virtual++) {
                struct cost_cpu cpu = {.family = ranges[r].family,
                                       .model = model,
                                       .packages = 1,
                                       .cores = 8,
                                       .threads = 16,
                                       .is_virtual = is_virtual};
                string_copy(cpu.vendor, sizeof cpu.vendor, ranges[r].vendor);
                struct cost_table table;
                cost_cpu_table(&cpu, &table);
                double core = table.joules[COST_CORE_SECONDS] + table.joules[COST_CUBIC_SECONDS];
                double idle = table.joules[COST_PACKAGE_SECONDS];
                if (!(core > 0.5 && core < 20 && idle > 0.3 && idle < 80))
                    fail_msg("%s: %g W idle, %g W a core", table.id, idle, core);
                assert_true(table.instance > 0);
            }
}

static void test_a_guest_knows_less(void **state)
{
    (void)state;
    struct cost_cpu guest = server;
    guest.is_virtual = true;
    guest.packages = 1;
    guest.cores = guest.threads = 4;
    struct estimate sure = cost_cpu_energy(&server, 10, NAN), unsure = cost_cpu_energy(&guest, 10, NAN);
    assert_true(estimate_sd(&unsure) / unsure.value > estimate_sd(&sure) / sure.value);
    struct cost_table four, eight;
    cost_cpu_table(&guest, &four);
    guest.cores = guest.threads = 8;
    cost_cpu_table(&guest, &eight);
    NEAR(eight.joules[COST_PACKAGE_SECONDS], 2 * four.joules[COST_PACKAGE_SECONDS]);
    NEAR(eight.joules[COST_CORE_SECONDS], four.joules[COST_CORE_SECONDS]);
}

static void test_energy_of_cpu_seconds(void **state)
{
    (void)state;
    struct estimate one = cost_cpu_energy(&server, 1, NAN), ten = cost_cpu_energy(&server, 10, NAN);
    assert_true(one.value > 1 && one.value < 20);
    NEAR(ten.value, 10 * one.value);
    NEAR(cost_cpu_energy(&server, 10, 1).value, ten.value); /* 10 of 40 cores are busy */
    NEAR(cost_cpu_energy(&server, 40, 1).value, 40 * one.value);
    double both = cost_cpu_energy(&server, 80, 1).value; /* each core runs two threads */
    assert_true(both > 40 * one.value && both < 60 * one.value);
    assert_true(cost_cpu_energy(&server, 0, 1).value == 0);
    assert_true(isnan(cost_cpu_energy(&server, NAN, 1).value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cost_is_the_sum_of_its_parts),
        cmocka_unit_test(test_work_without_price_is_unknown),
        cmocka_unit_test(test_errors_of_one_table_cancel),
        cmocka_unit_test(test_processors_have_the_table_of_their_family),
        cmocka_unit_test(test_every_seed_is_plausible),
        cmocka_unit_test(test_a_guest_knows_less),
        cmocka_unit_test(test_energy_of_cpu_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
