/* tests/support/fake_amd.c - see fake_amd.h. */
#include "support/fake_amd.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "joule/sources/amd/amd_smi_abi.h"
#include "joule/sources/amd/rocm_smi_abi.h"
#include "support/machine.h"

#define BEGIN_NS INT64_C(1000000000000)
#define STEP_NS  INT64_C(100000000)
#define CARD     "/sys/class/drm/card%u/device/"

const struct fake_amd_interface fake_amd_interfaces[FAKE_INTERFACES] = {
    [FAKE_ROCM_6] = {"rocm_smi", "rocm_smi/6", "librocm_smi64.so.6"},
    [FAKE_ROCM_5] = {"rocm_smi", "rocm_smi/5", "librocm_smi64.so.5"},
    [FAKE_AMD_1] = {"amd_smi", "amd_smi/1", "libamd_smi.so"},
    [FAKE_AMD_24] = {"amd_smi", "amd_smi/24", "libamd_smi.so.24"},
    [FAKE_AMD_25] = {"amd_smi", "amd_smi/25", "libamd_smi.so.25"},
    [FAKE_FILES] = {"amdgpu,hwmon", "rocm_smi/5", "librocm_smi64.so.5"},
};

static void set_time(struct fake_amd *fake, int64_t time_ns)
{
    void (*set)(int64_t);
    *(void **)&set = dlsym(fake->library, "fake_amd_set_time");
    fake->time_ns = time_ns;
    host_script_set_time(fake->host, time_ns);
    set(time_ns);
}

static void add_symbol(struct fake_amd *fake, const char *name)
{
    void *address = dlsym(fake->library, name);
    for (size_t i = 0; i < fake->symbol_count; i++)
        if (strcmp(fake->symbols[i].name, name) == 0)
            return;
    if (address)
        fake->symbols[fake->symbol_count++] = (struct script_symbol){name, address};
}

static void add_symbols(struct fake_amd *fake)
{
#define ADD(name, parameters) add_symbol(fake, "rsmi_" #name);
    ROCM_FUNCTIONS(ADD)
#undef ADD
#define ADD(member, name, old_name, parameters)                                                              \
    add_symbol(fake, "amdsmi_" name);                                                                        \
    add_symbol(fake, "amdsmi_" old_name);
    AMD_FUNCTIONS(ADD)
#undef ADD
}

/* --- the same boards as the kernel's files -------------------------------------------------------------- */

static struct {
    rocm_code (*pci)(uint32_t device, uint64_t *bdfid);
    rocm_code (*energy)(uint32_t device, uint64_t *counter, float *microjoules, uint64_t *time_ns);
    rocm_code (*power)(uint32_t device, uint32_t sensor, uint64_t *microwatts);
} files;

static int errno_of(rocm_code code)
{
    return code == RSMI_STATUS_PERMISSION ? -EACCES : code == RSMI_STATUS_BUSY ? -EPERM : -EIO;
}

/* Writes a gpu_metrics table of revision 1.3. */
static ssize_t read_table(void *context, int64_t time_ns, char *buffer, size_t size)
{
    uint64_t counts = UINT64_MAX, stamp;
    float microjoules;
    (void)time_ns;
    rocm_code code = files.energy((uint32_t)(uintptr_t)context, &counts, &microjoules, &stamp);
    if (code != RSMI_STATUS_SUCCESS && code != RSMI_STATUS_NOT_SUPPORTED)
        return errno_of(code);
    if (size < 120)
        return -EINVAL;
    memset(buffer, 0xff, 120);
    memcpy(buffer, "\x78\0\1\3", 4);
    memcpy(buffer + 24, &counts, sizeof counts);
    return 120;
}

static ssize_t read_microwatts(void *context, int64_t time_ns, char *buffer, size_t size)
{
    uint64_t microwatts;
    (void)time_ns;
    rocm_code code = files.power((uint32_t)(uintptr_t)context, 0, &microwatts);
    return code == RSMI_STATUS_SUCCESS ? snprintf(buffer, size, "%llu\n", (unsigned long long)microwatts)
                                       : errno_of(code);
}

/* Adds a partition of a board: a PCI device without driver and sensors, on its own bus. */
static void put_partition(struct fake_amd *fake, unsigned number)
{
    char path[128];
    snprintf(path, sizeof path, CARD "uevent", number);
    host_script_text(fake->host, path, "MODALIAS=platform:amdgpu_xcp\n");
}

static void put_board(struct fake_amd *fake, uint32_t device, uint64_t bdfid)
{
    char path[128], text[128];
    void *context = (void *)(uintptr_t)device;
    uint64_t microwatts;
    snprintf(path, sizeof path, CARD "uevent", device);
    snprintf(text, sizeof text, "DRIVER=amdgpu\nPCI_ID=1002:7408\nPCI_SLOT_NAME=0000:%02x:00.0\n",
             ROCM_BUS(bdfid));
    host_script_text(fake->host, path, text);
    snprintf(path, sizeof path, CARD "gpu_metrics", device);
    host_script_file(fake->host, path, read_table, context);
    if (files.power(device, 0, &microwatts) == RSMI_STATUS_NOT_SUPPORTED)
        return;
    snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%u/name", device);
    host_script_text(fake->host, path, "amdgpu");
    snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%u/device", device);
    snprintf(text, sizeof text, "../../../0000:%02x:00.0", ROCM_BUS(bdfid));
    host_script_link(fake->host, path, text);
    snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%u/power1_average", device);
    host_script_file(fake->host, path, read_microwatts, context);
}

static void put_files(struct fake_amd *fake)
{
    rocm_code (*start)(uint64_t);
    *(void **)&start = dlsym(fake->library, "rsmi_init");
    *(void **)&files.pci = dlsym(fake->library, "rsmi_dev_pci_id_get");
    *(void **)&files.energy = dlsym(fake->library, "rsmi_dev_energy_count_get");
    *(void **)&files.power = dlsym(fake->library, "rsmi_dev_power_ave_get");
    start(0);
    uint64_t bdfid;
    for (uint32_t device = 0; files.pci(device, &bdfid) == RSMI_STATUS_SUCCESS; device++) {
        if (bdfid & 7) /* this library stores the partition number in these bits */
            put_partition(fake, device);
        else
            put_board(fake, device, bdfid);
    }
}

/* --- the fixture ---------------------------------------------------------------------------------------- */

bool fake_amd_prepare(struct fake_amd *fake, const char *folder, int interface, const char *script)
{
    char path[4096];
    void (*set_script)(const char *);
    *fake = (struct fake_amd){.interface = &fake_amd_interfaces[interface]};
    snprintf(path, sizeof path, "%s/fakes/%s/%s", folder, fake->interface->folder, fake->interface->library);
    fake->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!fake->library)
        return false;
    fake->host = host_script_open();
    *(void **)&set_script = dlsym(fake->library, "fake_amd_script");
    set_script(script);
    set_time(fake, BEGIN_NS);
    add_symbols(fake);
    if (interface == FAKE_FILES)
        put_files(fake);
    else
        machine_put_amd_card(fake->host);
    return true;
}

void fake_amd_remove(struct fake_amd *fake, const char *symbol)
{
    for (size_t i = 0; i < fake->symbol_count; i++)
        if (strcmp(fake->symbols[i].name, symbol) == 0)
            fake->symbols[i] = fake->symbols[--fake->symbol_count];
}

void fake_amd_open(struct fake_amd *fake, const char *sources)
{
    host_script_library(fake->host, fake->interface->library, fake->symbols, fake->symbol_count);
    fake->meter = machine_open_devices(fake->host, sources ? sources : fake->interface->source);
}

void fake_amd_run(struct fake_amd *fake, double seconds)
{
    int64_t end_ns = fake->time_ns + (int64_t)(seconds * 1e9);
    while (fake->time_ns < end_ns) {
        set_time(fake, fake->time_ns + STEP_NS);
        meter_tick(fake->meter);
    }
}

void fake_amd_close(struct fake_amd *fake)
{
    joule_close(fake->meter);
    fake->host->ops->close(fake->host);
}

void fake_amd_free_clock(struct fake_amd *fake)
{
    void (*set)(int64_t);
    *(void **)&set = dlsym(fake->library, "fake_amd_set_time");
    set(-1);
}

const struct channel *fake_amd_channel(struct fake_amd *fake, const char *name)
{
    return machine_channel(fake->meter, name);
}

const struct source *fake_amd_source(struct fake_amd *fake, const char *name)
{
    for (size_t l = 0; l < fake->meter->lane_count; l++)
        for (size_t s = 0; s < fake->meter->lanes[l]->source_count; s++)
            if (strcmp(fake->meter->lanes[l]->sources[s]->ops->name, name) == 0)
                return fake->meter->lanes[l]->sources[s];
    return NULL;
}

unsigned fake_amd_start_count(struct fake_amd *fake)
{
    unsigned (*starts)(void);
    *(void **)&starts = dlsym(fake->library, "fake_amd_starts");
    return starts();
}
