/* support/rig.c - see rig.h. */
#include "support/rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/check.h"

int rig_set_up(void **state)
{
    static struct rig rig;
    rig = (struct rig){.host = host_script_open()};
    *state = &rig;
    return 0;
}

int rig_tear_down(void **state)
{
    struct rig *rig = *state;
    joule_close(rig->meter);
    rig->host->ops->close(rig->host);
    return 0;
}

struct sensor sensor_intel(const struct load *load)
{
    return (struct sensor){.load = load,
                           .unit_joules = INTEL_UNIT,
                           .modulus = UINT64_C(1) << 32,
                           .tick_s = 0.001,
                           .start_joules = 1234.5};
}

struct sensor sensor_amd(const struct load *load)
{
    struct sensor sensor = sensor_intel(load);
    sensor.unit_joules = AMD_UNIT;
    return sensor;
}

static double now_s(const struct rig *rig)
{
    return (double)meter_now_ns(rig->meter) * 1e-9;
}

double rig_truth(const struct rig *rig, const struct load *load)
{
    return load_joules(load, now_s(rig)) - load_joules(load, (double)rig->meter->begin_ns * 1e-9);
}

const struct channel *rig_channel(const struct rig *rig, const char *name)
{
    return rig->meter->channels[machine_domain(rig->meter, name)].channel;
}

void rig_expect(const struct rig *rig, int32_t domain, double joules, double tolerance, double unseen_s)
{
    joule_quantity q;
    struct window w = meter_window(rig->meter, domain, rig->meter->begin_ns, meter_now_ns(rig->meter));
    assert_int_equal(joule_energy_joules(rig->meter, domain, &q), JOULE_OK);
    assert_near(q.value, joules, tolerance);
    assert_true(q.low <= joules && joules <= q.high);
    assert_near(w.length_s - w.covered_s, unseen_s, 0.005);
}

void rig_expect_unknown(const struct rig *rig, int32_t domain)
{
    joule_quantity q;
    assert_int_equal(joule_energy_joules(rig->meter, domain, &q), JOULE_PENDING);
    assert_true(isnan(q.value));
}

bool rig_is_partial(const struct rig *rig)
{
    struct cover cover;
    meter_cover(rig->meter, JOULE_TOTAL, rig->meter->begin_ns, meter_now_ns(rig->meter), &cover);
    return cover.is_partial;
}

joule_status rig_state(const struct rig *rig, const char *name)
{
    joule_domain domain = {.struct_size = sizeof domain};
    joule_domain_get(rig->meter, (size_t)machine_domain(rig->meter, name), &domain);
    return domain.state;
}

void rig_open_powercap(struct rig *rig)
{
    rig->meter = machine_open(rig->host, "rapl_powercap");
}

void rig_sleep(struct rig *rig, double seconds)
{
    host_script_set_time(rig->host, meter_now_ns(rig->meter) + (int64_t)(seconds * 1e9));
}

struct sensor sensor_exact_intel(const struct load *load)
{
    struct sensor sensor = sensor_intel(load);
    sensor.unit_joules = 0x1p-14;
    return sensor;
}

struct sensor sensor_troubled(const struct load *load, struct trouble trouble)
{
    struct sensor sensor = sensor_intel(load);
    sensor.troubles[0] = trouble;
    return sensor;
}

const char *rig_cover_name(const struct rig *rig)
{
    static char name[200];
    struct cover cover;
    meter_cover(rig->meter, JOULE_TOTAL, rig->meter->begin_ns, meter_now_ns(rig->meter), &cover);
    meter_cover_name(rig->meter, &cover, name, sizeof name);
    return name;
}

void rig_put_two_packages(struct rig *rig, struct sensor *first, struct sensor *second)
{
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", AMD_RANGE, first);
    machine_put_zone(rig->host, "intel-rapl:1", "package-1\n", AMD_RANGE, second);
}

void rig_run_10_s(struct rig *rig, const char *range, struct sensor *package)
{
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", range, package);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
}
