/* Fuzz target: files of cgroups. Checks that no tenant (job, container, service or user) gets more joules
 * than the machine used.
 *
 * The input is the path of a cgroup, its cpu.stat, a later cpu.stat, and the cgroup file of a process on a
 * board, each ended by a zero byte. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "joule/attribute/attribute_pod.h"
#include "joule/api/open.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *next_text(char **at, const char *end)
{
    char *text = *at;
    *at = text + strlen(text) < end ? text + strlen(text) + 1 : text + strlen(text);
    return text;
}

static ssize_t counted(void *context, int64_t time_ns, char *text, size_t size)
{
    (void)context;
    /* a counter in microjoules that advances at 100 W */
    return snprintf(text, size, "%lld\n", (long long)(time_ns / 10000));
}

static void check_name(const char *path)
{
    struct tenant_name name;
    if (pod_read_folder(path, &name))
        require(name.pod[0] && name.namespace[0] && name.pod_uid[0] && !strpbrk(name.pod, "_/\"\\\n"));
    if (pod_read_log(path, &name))
        require(name.pod[0] && name.container[0] && name.container_id[0] &&
                !strpbrk(name.container, "_/\"\\\n"));
    if (!tenant_name_read(path, &name))
        return;
    require(name.kind[0]);
    require(strspn(name.container_id, "0123456789abcdef") == strlen(name.container_id));
    require(strspn(name.slurm_job, "0123456789") == strlen(name.slurm_job));
    require(strspn(name.pod_uid, "0123456789abcdef-") == strlen(name.pod_uid));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = calloc(1, size + 1), file[512];
    struct joule_host *host = host_script_open();
    if (!copy || !host)
        abort();
    memcpy(copy, data, size);
    char *at = copy;
    const char *path = next_text(&at, copy + size), *stat = next_text(&at, copy + size);
    const char *later = next_text(&at, copy + size), *process = next_text(&at, copy + size);
    check_name(path);
    host_script_text(host, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
    host_script_text(host, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    host_script_text(host, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    host_script_file(host, "/sys/class/powercap/intel-rapl:0/energy_uj", counted, NULL);
    host_script_text(host, "/proc/1/cgroup", process);
    bool fits = snprintf(file, sizeof file, "/sys/fs/cgroup/%s/cpu.stat", path) < (int)sizeof file;
    host_script_text(host, fits ? file : "/sys/fs/cgroup/system.slice/a.service/cpu.stat", stat);
    joule_options options = {.struct_size = sizeof options, .sources = "rapl_powercap"};
    joule_meter *meter = NULL;
    if (meter_open_on(host, false, &options, &meter, NULL) == JOULE_OK) {
        struct tenants tenants = {.meter = meter};
        for (int i = 1; i <= 40; i++) {
            host_script_set_time(host, 1000000000 + i * INT64_C(100000000));
            meter_tick(meter);
            if (i == 20)
                host_script_text(host, fits ? file : "/sys/fs/cgroup/system.slice/a.service/cpu.stat", later);
            if (i % 10 == 0)
                tenants_update(&tenants);
        }
        double sum = tenants.rest_cpu_joules;
        for (size_t i = 0; i < tenants.count; i++)
            sum += tenants.list[i].cpu_joules;
        require(isfinite(sum) && sum >= 0 && sum <= 401);
        tenants_free(&tenants);
        joule_close(meter);
    }
    host->ops->close(host);
    free(copy);
    return 0;
}
