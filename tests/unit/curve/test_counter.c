/* Tests counters, with one case for each way in which published tools misread them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "joule/curve/counter.h"

#define MS             1000000LL
#define UNIT           6.103515625e-05 /* 2^-14 J */
#define POWERCAP       262143328850ULL
#define close_to(a, b) assert_float_equal((float)((a) - (b)), 0, 1e-6f)

static struct counter make(uint64_t modulus, double unit)
{
    return (struct counter){.modulus = modulus, .unit_joules = unit, .max_watts = 2000, .tick_s = 0.001};
}

static double total_joules(const struct counter *c)
{
    return (double)c->total * c->unit_joules;
}

static void test_first_reading_is_a_start(void **state)
{
    (void)state;
    struct counter c = make(POWERCAP, 1e-6);
    double joules = -1;
    assert_int_equal(counter_step(&c, 0, 240422366267, &joules), COUNTER_FIRST);
    close_to(joules, 0);
    assert_int_equal(counter_step(&c, 100 * MS, 240422366267, &joules), COUNTER_SAME);
    close_to(total_joules(&c), 0);
}

static void test_one_wrap_is_counted(void **state)
{
    (void)state;
    struct counter c = make(262143328850, 1e-6);
    double joules;
    counter_step(&c, 0, 262143000000, &joules);
    assert_int_equal(counter_step(&c, 100 * MS, 1000000, &joules), COUNTER_WRAPPED);
    close_to(joules, 1.32885);
}

static void test_many_wraps_of_an_epyc(void **state)
{
    (void)state;
    struct counter c = make(1ULL << 32, 1.52587890625e-05);
    const double watts = 500;
    double joules, truth = 0;
    int64_t t = 0;
    for (int i = 0; i <= 36000; i++, t += 100 * MS) { /* one hour, in which the counter wraps 27 times */
        truth = watts * (double)t * 1e-9;
        enum counter_verdict v = counter_step(&c, t, (uint64_t)(truth / c.unit_joules) & 0xffffffff, &joules);
        assert_false(counter_verdict_is_gap(v));
    }
    assert_true(c.wraps == 27);
    assert_true(fabs(total_joules(&c) - truth) < 1e-3);
}

static void test_too_long_between_readings_is_ambiguous(void **state)
{
    (void)state;
    /* the range is 65536 J, which are 32.8 s at 2 kW */
    struct counter c = make(1ULL << 32, 1.52587890625e-05);
    double joules;
    counter_step(&c, 0, 1000, &joules);
    assert_int_equal(counter_step(&c, 40000 * MS, 2000, &joules), COUNTER_AMBIGUOUS);
    close_to(total_joules(&c), 0);
    assert_int_equal(counter_step(&c, 40100 * MS, 2000 + 65536, &joules), COUNTER_ADVANCED);
    close_to(joules, 1.0);
    assert_true(counter_max_interval_s(&c) <= 65536.0 / 2000 / 4 + 1e-9);
}

static void test_step_back_without_a_modulus_is_a_reset(void **state)
{
    (void)state;
    struct counter c = make(0, 15.2587890625e-6);
    double joules;
    counter_step(&c, 0, 4750896266, &joules);
    assert_int_equal(counter_step(&c, 1000 * MS, 4736943791, &joules), COUNTER_RESET);
    close_to(joules, 0);
    assert_int_equal(counter_step(&c, 2000 * MS, 4736943791 + 65536, &joules), COUNTER_ADVANCED);
    close_to(joules, 1.0);
    assert_true(c.resets == 1);
}

static void test_sign_extended_perf_step_is_no_64_bit_wrap(void **state)
{
    (void)state;
    struct counter c = make(0, 0x1p-32);
    double joules;
    uint64_t before = (uint64_t)1 << 40;
    counter_step(&c, 0, before, &joules);
    /* The kernel has added a negative 32-bit difference. */
    assert_int_equal(counter_step(&c, 100 * MS, before - ((uint64_t)1 << 36), &joules), COUNTER_RESET);
    close_to(total_joules(&c), 0);
}

/* The kernel extends a 32-bit register of 2^-16 J to 64 bits. A difference of 2^31 units becomes negative. A
 * difference of 2^32 units is lost, and nothing shows the loss. */
static void test_folded_register_bounds_a_64_bit_counter(void **state)
{
    (void)state;
    struct counter c = make(0, 0x1p-32);
    c.fold_counts = UINT64_C(1) << 47;
    close_to(counter_max_interval_s(&c), 4.096);
    double joules;
    counter_step(&c, 0, 0, &joules);
    assert_int_equal(counter_step(&c, 15000 * MS, UINT64_C(1) << 40, &joules), COUNTER_ADVANCED);
    assert_int_equal(counter_step(&c, 32000 * MS, UINT64_C(1) << 41, &joules), COUNTER_AMBIGUOUS);
}

static void test_jump_of_four_billion_joules_is_impossible(void **state)
{
    (void)state;
    struct counter c = make(0, 0x1p-32);
    double joules;
    counter_step(&c, 0, 5, &joules);
    assert_int_equal(counter_step(&c, 100 * MS, UINT64_MAX - 5, &joules), COUNTER_IMPOSSIBLE);
    close_to(joules, 0);
    assert_true(c.rejected == 1);
}

static void test_wrap_that_would_need_megawatts_is_impossible(void **state)
{
    (void)state;
    struct counter c = make(1ULL << 32, UNIT);
    double joules;
    counter_step(&c, 0, 3000000000u, &joules);
    /* a step of this size is a reset, not a wrap */
    assert_int_equal(counter_step(&c, 100 * MS, 1000, &joules), COUNTER_IMPOSSIBLE);
    close_to(total_joules(&c), 0);
}

static void test_reading_beyond_the_modulus_is_impossible(void **state)
{
    (void)state;
    struct counter c = make(POWERCAP, 1e-6);
    double joules;
    counter_step(&c, 0, 100, &joules);
    assert_int_equal(counter_step(&c, 100 * MS, POWERCAP + 7, &joules), COUNTER_IMPOSSIBLE);
}

static void test_frozen_counter_is_noticed(void **state)
{
    (void)state;
    struct counter c = make(0, 15.2587890625e-6);
    double joules;
    for (int i = 0; i <= 20; i++)
        counter_step(&c, i * 100 * MS, 8152136, &joules);
    assert_true(counter_is_frozen(&c, 2));
    counter_step(&c, 2100 * MS, 8152136 + 100, &joules);
    assert_false(counter_is_frozen(&c, 2));
}

/* For any readings, the counted sum equals the sum of the accepted steps. It never exceeds the maximum power
 * multiplied by the time. */
static void test_random_readings_never_exceed_physics(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < 2000; round++) {
        struct counter c = make(round % 3 ? 1ULL << (8 + rand() % 40) : 0, UNIT);
        int64_t t = 0;
        double sum = 0, joules;
        for (int i = 0; i < 50; i++) {
            uint64_t raw = ((uint64_t)rand() << 31 ^ (uint64_t)rand()) >> rand() % 50;
            counter_step(&c, t, raw, &joules);
            assert_true(joules >= 0);
            sum += joules;
            t += rand() % 1000 * MS;
        }
        double seconds = (double)t * 1e-9;
        assert_true(sum <= 2000 * seconds + 50 * (2 * UNIT + 2000 * 0.001));
        assert_true(fabs(sum - total_joules(&c)) <= 1e-9 * (1 + sum));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_reading_is_a_start),
        cmocka_unit_test(test_one_wrap_is_counted),
        cmocka_unit_test(test_many_wraps_of_an_epyc),
        cmocka_unit_test(test_too_long_between_readings_is_ambiguous),
        cmocka_unit_test(test_step_back_without_a_modulus_is_a_reset),
        cmocka_unit_test(test_sign_extended_perf_step_is_no_64_bit_wrap),
        cmocka_unit_test(test_folded_register_bounds_a_64_bit_counter),
        cmocka_unit_test(test_jump_of_four_billion_joules_is_impossible),
        cmocka_unit_test(test_wrap_that_would_need_megawatts_is_impossible),
        cmocka_unit_test(test_reading_beyond_the_modulus_is_impossible),
        cmocka_unit_test(test_frozen_counter_is_noticed),
        cmocka_unit_test(test_random_readings_never_exceed_physics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
