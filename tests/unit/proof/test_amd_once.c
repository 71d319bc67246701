/* tests/unit/proof/test_amd_once.c - AMD's joules are counted once and never jump, by whichever way they are read.
 *
 * The same scripted boards are read by the kernel's files, by librocm_smi64 of two releases and by libamd_smi of three.
 * At every tenth of a second the total is no less than before, and no more than the boards can have used by then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "support/fake_amd.h"

#define WATTS  200.0 /* of a socket */
#define RUN_S  10.0
#define TICK_S 0.1

static struct fake_amd fake;

static double total_joules(void)
{
    joule_quantity joules;
    joule_status status = joule_energy_joules(fake.meter, JOULE_TOTAL, &joules);
    return status == JOULE_OK ? joules.value : NAN;
}

/* Joules of the run; every one of its steps is looked at. */
static double run(const char *script, double watts)
{
    double before = 0;
    for (int step = 1; step <= (int)(RUN_S / TICK_S); step++) {
        fake_amd_run(&fake, TICK_S);
        double now = total_joules(), most = watts * (step + 0.5) * TICK_S;
        if (isnan(now) && before == 0)
            continue; /* nothing has moved yet */
        if (!(now >= before - 1e-6 && now <= most))
            fail_msg("%s %s \"%s\": from %g to %g J, at most %g J after %g s", fake.way->source,
                     fake.way->library, script, before, now, most, step * TICK_S);
        before = now;
    }
    return before;
}

/* Sockets of 200 W each; what is told of them may be without `lost_s` seconds. */
static void expect_once(int way, const char *script, unsigned sockets, double lost_s)
{
    double watts = sockets * WATTS;
    if (!fake_amd_prepare(&fake, TEST_BINARY_DIR, way, script))
        fail_msg("no fake library %s", fake_ways[way].library);
    fake_amd_open(&fake, NULL);
    double joules = run(script, watts);
    if (!(joules >= watts * (RUN_S - lost_s)))
        fail_msg("%s %s \"%s\": %g J of %g J", fake.way->source, fake.way->library, script, joules,
                 watts * RUN_S);
    fake_amd_close(&fake);
}

#define COUNTED 0.001 /* s: by a counter, to its last reading */
#define SAMPLED 0.21  /* by power: two samples of a level that does not change */

static void by_all_ways(const char *script, unsigned sockets, double lost_s)
{
    for (int way = 0; way < FAKE_WAYS; way++)
        expect_once(way, script, sockets, lost_s);
}

/* ROCm 5.5 tells no power that is understood. */
static void by_power(const char *script, unsigned sockets)
{
    static const int ways[] = {FAKE_ROCM_6, FAKE_ROCM_5, FAKE_AMD_24, FAKE_AMD_25, FAKE_FILES};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        expect_once(ways[i], script, sockets, SAMPLED);
}

static void boards_add_up(void **test)
{
    (void)test;
    by_all_ways("", 1, COUNTED);
    by_all_ways("boards=4", 4, COUNTED);
    by_power("boards=4; energy=0", 4);
}

/* MI250: the first die's sensors are the package's, the second one's say 0. */
static void second_dies_add_nothing(void **test)
{
    (void)test;
    by_all_ways("boards=2; 1.energy=-2 1.power=-2", 1, COUNTED);
    by_power("boards=2; energy=0 1.power=-2", 1);
    by_all_ways("boards=4; 1.energy=-2 1.power=-2 3.energy=-2 3.power=-2", 2, COUNTED);
}

/* MI300 in eight parts: each repeats the socket's figures. */
static void partitions_add_nothing(void **test)
{
    (void)test;
    by_all_ways("partitions=8", 1, COUNTED);
    by_all_ways("boards=2; partitions=2", 2, COUNTED);
    by_power("partitions=8; energy=0", 1);
}

/* From the beginning or from some time on; then power tells, where it is told. */
static void counters_that_stand_are_not_taken(void **test)
{
    static const int ways[] = {FAKE_ROCM_6, FAKE_ROCM_5, FAKE_AMD_24, FAKE_AMD_25, FAKE_FILES};
    (void)test;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        expect_once(ways[i], "stand_at_ms=2000", 1, SAMPLED);
    by_power("energy=-1", 1);
    by_power("boards=2; 0.energy=-1 1.energy=0", 2);
}

/* The interval in which it went back is lost, and nothing else. */
static void steps_back_are_no_joules(void **test)
{
    (void)test;
    by_all_ways("back_at_ms=3050", 1, TICK_S + COUNTED);
    by_all_ways("boards=2; 1.back_at_ms=3050", 2, TICK_S + COUNTED);
}

/* A counter of 32 bits whose modulus the way does not tell. 61544 J at time 0 are 600 J before its end after 1000 s. */
static void wraps_are_no_joules(void **test)
{
    (void)test;
    by_all_ways("bits=32 start=61544", 1, TICK_S + COUNTED);
}

/* What was used meanwhile comes with the next reading. */
static void pauses_lose_nothing(void **test)
{
    (void)test;
    by_all_ways("busy_at_ms=3000 busy_for_ms=500", 1, COUNTED);
    by_all_ways("boards=2; 1.busy_at_ms=3000 1.busy_for_ms=500", 2, COUNTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boards_add_up),
        cmocka_unit_test(second_dies_add_nothing),
        cmocka_unit_test(partitions_add_nothing),
        cmocka_unit_test(counters_that_stand_are_not_taken),
        cmocka_unit_test(steps_back_are_no_joules),
        cmocka_unit_test(wraps_are_no_joules),
        cmocka_unit_test(pauses_lose_nothing),
    };
    return cmocka_run_group_tests_name("amd_once", tests, NULL, NULL);
}
