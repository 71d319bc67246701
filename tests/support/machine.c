/* support/machine.c - see machine.h. */
#include "support/machine.h"

#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "joule/api/open.h"
#include "support/check.h"
#include "support/test_data.h"

static struct { /* static, because callbacks of nftw get no context */
    struct joule_host *host;
    size_t root_length;
    const char *prefix;
} loading;

static int load_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    char name[1024], target[1024];
    (void)status;
    (void)ftw;
    snprintf(name, sizeof name, "%s%s", loading.prefix, path + loading.root_length);
    if (type == FTW_SL || type == FTW_SLN) {
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = '\0';
        host_script_link(loading.host, name, target);
    } else if (type == FTW_F) {
        char *text = test_read_file(path, NULL);
        if (text)
            host_script_text(loading.host, name, text);
        free(text);
    }
    return 0;
}

bool machine_add(struct joule_host *host, const char *root, const char *prefix)
{
    loading.host = host;
    loading.root_length = strlen(root);
    loading.prefix = prefix;
    return nftw(root, load_entry, 16, FTW_PHYS) == 0;
}

struct joule_host *machine_load(const char *root)
{
    struct joule_host *host = host_script_open();
    if (machine_add(host, root, ""))
        return host;
    host->ops->close(host);
    return NULL;
}

const char *machine_fixture(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/machines/%s", TEST_BINARY_DIR, name);
    return path;
}

static joule_meter *open_with(struct joule_host *host, const char *sources, uint32_t flags)
{
    joule_options options = {.struct_size = sizeof options, .flags = flags, .sources = sources, .wait_s = 30};
    joule_error error = {0};
    joule_meter *meter = NULL;
    assert_ok(meter_open_on(host, false, &options, &meter, &error), &error);
    return meter;
}

joule_meter *machine_open(struct joule_host *host, const char *sources)
{
    return open_with(host, sources, 0);
}

joule_meter *machine_open_devices(struct joule_host *host, const char *sources)
{
    return open_with(host, sources, JOULE_OPEN_DEVICES);
}

void machine_run(joule_meter *meter, double seconds, double step_s)
{
    int64_t begin_ns = meter_now_ns(meter);
    for (int i = 1; i <= (int)lround(seconds / step_s); i++) {
        host_script_set_time(meter->host, begin_ns + (int64_t)llround(i * step_s * 1e9));
        meter_tick(meter);
    }
}

const struct channel *machine_channel(joule_meter *meter, const char *name)
{
    for (size_t i = 0; i < joule_domain_count(meter); i++)
        if (strcmp(meter->channels[i].channel->info.name, name) == 0)
            return meter->channels[i].channel;
    return NULL;
}

const struct channel *machine_require_channel(joule_meter *meter, const char *name)
{
    const struct channel *ch = machine_channel(meter, name);
    if (!ch)
        fail_msg("no channel is called %s", name);
    return ch;
}

const struct source *machine_source(joule_meter *meter, const char *name)
{
    for (size_t i = 0; i < meter->lane_count; i++)
        for (size_t k = 0; k < meter->lanes[i]->source_count; k++)
            if (strcmp(meter->lanes[i]->sources[k]->ops->name, name) == 0)
                return meter->lanes[i]->sources[k];
    fail_msg("no source is called %s", name);
    return NULL;
}

joule_device machine_device(joule_meter *meter, size_t position)
{
    joule_device device = {.struct_size = sizeof device};
    assert_int_equal(joule_device_get(meter, position, &device), JOULE_OK);
    return device;
}

int32_t machine_domain(joule_meter *meter, const char *name)
{
    return machine_require_channel(meter, name)->info.id;
}

double machine_joules(joule_meter *meter, const char *name)
{
    joule_quantity joules;
    if (joule_energy_joules(meter, machine_domain(meter, name), &joules) != JOULE_OK)
        fail_msg("the joules of %s are not known", name);
    return joules.value;
}

double machine_mean_watts(joule_meter *meter, int32_t domain)
{
    struct window w = meter_window(meter, domain, meter->begin_ns, meter_now_ns(meter));
    return w.joules.value / w.covered_s;
}

double machine_watts(joule_meter *meter, const char *name)
{
    return machine_mean_watts(meter, machine_domain(meter, name));
}

/* --- parts of a scripted machine ------------------------------------------------------------------------ */

static void put_text(struct joule_host *host, const char *text, const char *path_format, ...)
{
    char path[256];
    va_list args;
    va_start(args, path_format);
    vsnprintf(path, sizeof path, path_format, args);
    va_end(args);
    host_script_text(host, path, text);
}

void machine_put_cpus(struct joule_host *host, const char *vendor, unsigned family, unsigned model,
                      unsigned packages)
{
    char text[256];
    snprintf(text, sizeof text, "vendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\nflags\t\t: fpu\n", vendor,
             family, model);
    host_script_text(host, "/proc/cpuinfo", text);
    snprintf(text, sizeof text, packages > 1 ? "0-%u\n" : "0\n", packages - 1);
    host_script_text(host, "/sys/devices/system/cpu/online", text);
    for (unsigned cpu = 0; cpu < packages; cpu++) {
        snprintf(text, sizeof text, "%u\n", cpu);
        put_text(host, text, "/sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
    }
}

void machine_put_zone(struct joule_host *host, const char *id, const char *name, const char *range,
                      struct sensor *sensor)
{
    char path[200];
    put_text(host, name, "/sys/class/powercap/%s/name", id);
    put_text(host, range, "/sys/class/powercap/%s/max_energy_range_uj", id);
    snprintf(path, sizeof path, "/sys/class/powercap/%s/energy_uj", id);
    host_script_file(host, path, sensor_microjoules, sensor);
}

#define PMU "/sys/bus/event_source/devices/power"

void machine_put_event(struct joule_host *host, const char *name, unsigned code, unsigned cpu,
                       struct kernel_count *kernel)
{
    char text[32];
    host_script_text(host, PMU "/type", "23\n");
    snprintf(text, sizeof text, "event=0x%02x\n", code);
    put_text(host, text, PMU "/events/%s", name);
    put_text(host, "Joules\n", PMU "/events/%s.unit", name);
    put_text(host, "2.3283064365386962890625e-10\n", PMU "/events/%s.scale", name);
    host_script_perf(host, &(struct host_perf_event){23, code, (int)cpu}, kernel_count_value, kernel);
}

/* --- a test's machine ----------------------------------------------------------------------------------- */

int machine_setup(void **state)
{
    struct machine_bench *bench = calloc(1, sizeof *bench);
    bench->host = host_script_open();
    *state = bench;
    return 0;
}

int machine_teardown(void **state)
{
    struct machine_bench *bench = *state;
    joule_close(bench->meter);
    bench->host->ops->close(bench->host);
    free(bench);
    return 0;
}

void machine_put(struct machine_bench *bench, const char *path, const char *text)
{
    assert_true(host_script_text(bench->host, path, text));
}

void machine_run_until(struct machine_bench *bench, int64_t end_ns)
{
    for (; bench->next_ns <= end_ns; bench->next_ns += 100000000) {
        host_script_set_time(bench->host, bench->next_ns);
        meter_tick(bench->meter);
    }
}

void machine_expect_absent(struct machine_bench *bench, const char *source, joule_status status,
                           const char *words)
{
    bench->meter = machine_open(bench->host, source);
    assert_int_equal(joule_domain_count(bench->meter), 0);
    assert_int_equal(machine_source(bench->meter, source)->state, status);
    assert_contains(machine_source(bench->meter, source)->remedy, words);
}

void machine_put_amd_card(struct joule_host *host)
{
    host_script_text(host, "/sys/class/drm/card1/device/uevent",
                     "DRIVER=amdgpu\nPCI_ID=1002:7408\nPCI_SLOT_NAME=0000:c1:00.0\n");
    host_script_link(host, "/sys/bus/pci/drivers/amdgpu/0000:c1:00.0",
                     "../../../../devices/pci0000:c0/0000:c1:00.0");
}
