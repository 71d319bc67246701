/* Tests that the energy of AMD's boards is counted once and does not jump, for every way to read the boards.
 *
 * The same scripted boards are read through the kernel's files, librocm_smi64 of two releases and libamd_smi
 * of three. Every tenth of a second, the total must not have fallen, and must not exceed what the boards can
 * have used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "support/fake_amd.h"

#define WATTS  200.0 /* power of one socket */
#define RUN_S  10.0
#define TICK_S 0.1

static struct fake_amd fake;

static double total_joules(void)
{
    joule_quantity joules;
    joule_status status = joule_energy_joules(fake.meter, JOULE_TOTAL, &joules);
    return status == JOULE_OK ? joules.value : NAN;
}

/* Runs the script and returns the total. Fails if the total decreases or exceeds the possible energy. watts:
 * power of all boards together. */
static double run(const char *script, double watts)
{
    double before = 0;
    for (int step = 1; step <= (int)(RUN_S / TICK_S); step++) {
        fake_amd_run(&fake, TICK_S);
        double now = total_joules(), max_joules = watts * (step + 0.5) * TICK_S;
        if (isnan(now) && before == 0)
            continue; /* the counter has not risen yet */
        if (!(now >= before - 1e-6 && now <= max_joules))
            fail_msg("%s %s \"%s\": from %g to %g J, at most %g J after %g s", fake.interface->source,
                     fake.interface->library, script, before, now, max_joules, step * TICK_S);
        before = now;
    }
    return before;
}

/* Checks one way to read sockets that draw 200 W each. The energy of up to `lost_s` seconds may be
 * missing. */
static void expect_once(int interface, const char *script, unsigned sockets, double lost_s)
{
    double watts = sockets * WATTS;
    if (!fake_amd_prepare(&fake, TEST_BINARY_DIR, interface, script))
        fail_msg("no fake library %s", fake_amd_interfaces[interface].library);
    fake_amd_open(&fake, NULL);
    double joules = run(script, watts);
    if (!(joules >= watts * (RUN_S - lost_s)))
        fail_msg("%s %s \"%s\": %g J of %g J", fake.interface->source, fake.interface->library, script,
                 joules, watts * RUN_S);
    fake_amd_close(&fake);
}

/* seconds whose energy may be missing if a counter is read: the time after the last reading */
#define COUNTED 0.001
#define SAMPLED 0.21 /* seconds whose energy may be missing if power is sampled: two periods of samples */

static void by_all_ways(const char *script, unsigned sockets, double lost_s)
{
    for (int interface = 0; interface < FAKE_INTERFACES; interface++)
        expect_once(interface, script, sockets, lost_s);
}

/* Checks all ways that provide usable power. libamd_smi of ROCm 5.5 provides none. */
static void by_power(const char *script, unsigned sockets)
{
    static const int interfaces[] = {FAKE_ROCM_6, FAKE_ROCM_5, FAKE_AMD_24, FAKE_AMD_25, FAKE_FILES};
    for (size_t i = 0; i < sizeof interfaces / sizeof interfaces[0]; i++)
        expect_once(interfaces[i], script, sockets, SAMPLED);
}

static void boards_add_up(void **test)
{
    (void)test;
    by_all_ways("", 1, COUNTED);
    by_all_ways("boards=4", 4, COUNTED);
    by_power("boards=4; energy=0", 4);
}

/* MI250: the sensors of the first die show the whole package, those of the second die show 0. */
static void second_dies_add_nothing(void **test)
{
    (void)test;
    by_all_ways("boards=2; 1.energy=-2 1.power=-2", 1, COUNTED);
    by_power("boards=2; energy=0 1.power=-2", 1);
    by_all_ways("boards=4; 1.energy=-2 1.power=-2 3.energy=-2 3.power=-2", 2, COUNTED);
}

/* MI300 in eight partitions: each partition repeats the values of its socket. */
static void partitions_add_nothing(void **test)
{
    (void)test;
    by_all_ways("partitions=8", 1, COUNTED);
    by_all_ways("boards=2; partitions=2", 2, COUNTED);
    by_power("partitions=8; energy=0", 1);
}

/* If the counter is constant from the begin or stops later, power is used where it exists. */
static void constant_counters_are_not_used(void **test)
{
    static const int interfaces[] = {FAKE_ROCM_6, FAKE_ROCM_5, FAKE_AMD_24, FAKE_AMD_25, FAKE_FILES};
    (void)test;
    for (size_t i = 0; i < sizeof interfaces / sizeof interfaces[0]; i++)
        expect_once(interfaces[i], "stand_at_ms=2000", 1, SAMPLED);
    by_power("energy=-1", 1);
    by_power("boards=2; 0.energy=-1 1.energy=0", 2);
}

/* If the counter goes back, only the energy of that interval is lost. */
static void steps_back_are_no_joules(void **test)
{
    (void)test;
    by_all_ways("back_at_ms=3050", 1, TICK_S + COUNTED);
    by_all_ways("boards=2; 1.back_at_ms=3050", 2, TICK_S + COUNTED);
}

/* The counter has 32 bits, and its modulus is unknown. It is 61544 J at time 0, so it wraps 600 J after the
 * begin of the run at 1000 s. */
static void wraps_are_no_joules(void **test)
{
    (void)test;
    by_all_ways("bits=32 start=61544", 1, TICK_S + COUNTED);
}

/* Energy that is used during a pause appears with the next reading. */
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
        cmocka_unit_test(constant_counters_are_not_used),
        cmocka_unit_test(steps_back_are_no_joules),
        cmocka_unit_test(wraps_are_no_joules),
        cmocka_unit_test(pauses_lose_nothing),
    };
    return cmocka_run_group_tests_name("amd_once", tests, NULL, NULL);
}
