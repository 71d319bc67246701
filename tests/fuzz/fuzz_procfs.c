/* Fuzz target: parsers of /proc/cpuinfo, /proc/stat and the CPU list, through the modelled source on a
 * scripted machine. Checks that energy is finite and never decreases.
 *
 * The input is four files, each ended by a zero byte: cpuinfo, online, stat, and a later stat. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/api/open.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Terminates the file at the next zero byte. Sets *at to the byte after it. Returns the file's text. */
static const char *next_file(char **at, const char *end)
{
    char *file = *at;
    *at = file + strlen(file) < end ? file + strlen(file) + 1 : file + strlen(file);
    return file;
}

static void check(joule_meter *meter, double *last)
{
    for (size_t i = 0; i < joule_domain_count(meter); i++) {
        joule_quantity q;
        if (joule_energy_joules(meter, (int32_t)i, &q) == JOULE_OK)
            require(isfinite(q.value) && q.low <= q.value && q.value <= q.high);
    }
    joule_quantity total;
    if (joule_energy_joules(meter, JOULE_TOTAL, &total) == JOULE_OK) {
        require(total.value >= *last - 1e-6);
        *last = total.value;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 1);
    struct joule_host *host = host_script_open();
    if (!text || !host)
        abort();
    memcpy(text, data, size);
    char *at = text;
    const char *cpuinfo = next_file(&at, text + size), *online = next_file(&at, text + size);
    const char *stat = next_file(&at, text + size), *later = next_file(&at, text + size);
    host_script_text(host, "/proc/cpuinfo", cpuinfo);
    if (strlen(online) < 6) /* a longer list may name thousands of CPUs, which takes too long */
        host_script_text(host, "/sys/devices/system/cpu/online", online);
    host_script_text(host, "/proc/stat", stat);
    host_script_set_time(host, 10000000000);

    joule_meter *meter = NULL;
    joule_options options = {.struct_size = sizeof options, .sources = "estimated"};
    if (meter_open_on(host, false, &options, &meter, NULL) == JOULE_OK) {
        double last = 0;
        for (int i = 1; i <= 4; i++) {
            host_script_set_time(host, 10000000000 + i * INT64_C(100000000));
            if (i == 3)
                host_script_text(host, "/proc/stat", later);
            meter_tick(meter);
            check(meter, &last);
        }
        joule_close(meter);
    }
    host->ops->close(host);
    free(text);
    return 0;
}
