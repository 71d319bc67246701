/* Tests random machines with random faults, whose time is split into windows at random. The meter must never
 * show more energy than was used.
 *
 * Note: faults here never make a counter show more than was used; test_replay.c tests faults that do. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "support/chance.h"
#include "support/check.h"
#include "support/rig.h"

/* --- any machine ---------------------------------------------------------------------------------------- */

static struct load random_load(double most_watts)
{
    struct load load = {.repeat_s = 3 + 4 * chance()};
    for (double t_s = 0; t_s < load.repeat_s && load.count < LOAD_LEVELS; t_s += 0.05 + 0.3 * chance())
        load_add(&load, t_s, 1 + most_watts * chance());
    return load;
}

/* Returns no fault or one fault; none makes the counter show more than was used. */
static struct trouble random_trouble(void)
{
    static const enum trouble_kind kinds[] = {TROUBLE_NONE, TROUBLE_FREEZE, TROUBLE_RESTART, TROUBLE_REFUSE};
    struct trouble trouble = {.kind = kinds[(int)(4 * chance())], .from_s = 2 + 8 * chance(), .error = EIO};
    if (trouble.kind != TROUBLE_RESTART) /* a restarted counter never returns to its old count */
        trouble.until_s = trouble.from_s + 3 * chance();
    return trouble;
}

struct random_machine {
    struct load packages[2], core_load;
    struct sensor sensors[2], core;
};

static void make_random_machine(struct rig *rig, struct random_machine *m)
{
    for (int i = 0; i < 2; i++) {
        m->packages[i] = random_load(200);
        m->sensors[i] = sensor_amd(&m->packages[i]);
        m->sensors[i].troubles[0] = random_trouble();
        /* A restart just below the maximum would look like a wrap. */
        bool restarts = m->sensors[i].troubles[0].kind == TROUBLE_RESTART;
        m->sensors[i].start_joules = (restarts ? 50000 : 65530) * chance();
    }
    m->core_load = m->packages[0];
    for (size_t i = 0; i < m->core_load.count; i++)
        m->core_load.levels[i].watts *= 0.2 + 0.7 * chance();
    m->core = sensor_amd(&m->core_load);
    rig_put_two_packages(rig, &m->sensors[0], &m->sensors[1]);
    machine_put_zone(rig->host, "intel-rapl:0:0", "core\n", AMD_RANGE, &m->core);
    rig_open_powercap(rig);
    for (double t_s = 0; t_s < 12;) {
        double step_s = 0.02 + (chance() < 0.02 ? 2 : 0.2) * chance();
        rig_sleep(rig, step_s);
        meter_tick(rig->meter);
        t_s += step_s;
    }
}

/* Fails unless the parts of a split window add up. A part that was not observed is unknown and adds
 * nothing. */
static void check_splits(const struct rig *rig, const char *name)
{
    int32_t id = machine_domain(rig->meter, name);
    int64_t begin_ns = rig->meter->begin_ns, end_ns = meter_now_ns(rig->meter), from_ns = begin_ns;
    double whole = meter_channel_window(rig->meter, id, begin_ns, end_ns).joules.value, sum = 0;
    while (from_ns < end_ns) {
        int64_t to_ns = from_ns + (int64_t)(0.2 * chance() * (double)(end_ns - begin_ns)) + 1;
        if (to_ns > end_ns)
            to_ns = end_ns;
        double part = meter_channel_window(rig->meter, id, from_ns, to_ns).joules.value;
        sum += isnan(part) ? 0 : part;
        from_ns = to_ns;
    }
    assert_near(sum, whole, 1e-9 * whole);
}

/* For a machine with one package. Fails if the error of the joules is larger than the energy at the edges of
 * the window, or if energy of the covered time is missing. */
static void check_package(const struct rig *rig, const char *name, const struct load *load, bool is_whole)
{
    struct window w = meter_window(rig->meter, machine_domain(rig->meter, name), rig->meter->begin_ns,
                                   meter_now_ns(rig->meter));
    double used = rig_truth(rig, load), edges = 0.5 + 0.25 * 200;
    if (w.joules.value > used + edges)
        fail_msg("%s: %g J of %g J", name, w.joules.value, used);
    if (is_whole)
        assert_near(w.joules.value, used, 1);
    assert_true(w.covered_s <= w.length_s + 1e-9);
}

static void check_rest(const struct rig *rig, double used)
{
    joule_quantity rest;
    if (joule_rest_joules(rig->meter, machine_domain(rig->meter, "package-0"), &rest) == JOULE_OK) {
        assert_true(rest.high >= 0);
        assert_true(rest.low <= used && used <= rest.high);
    }
}

static void test_totals_of_random_machines_are_right(void **state)
{
    struct rig *rig = *state;
    for (int seed = 1; seed <= 200; seed++) {
        static struct random_machine m;
        chance_state = 0x9E3779B97F4A7C15u * (uint64_t)seed;
        if (rig->meter) {
            rig_tear_down(state);
            rig_set_up(state);
        }
        make_random_machine(rig, &m);
        bool whole[2];
        for (int i = 0; i < 2; i++)
            whole[i] = m.sensors[i].troubles[0].kind == TROUBLE_NONE;
        check_package(rig, "package-0", &m.packages[0], whole[0]);
        check_package(rig, "package-1", &m.packages[1], whole[1]);
        check_splits(rig, "package-0");
        check_splits(rig, "package-1");
        check_splits(rig, "core-0");
        if (whole[0])
            check_rest(rig, rig_truth(rig, &m.packages[0]) - rig_truth(rig, &m.core_load));
    }
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_totals_of_random_machines_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
