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
#include "support/test_data.h"

static struct { /* nftw has no context */
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
    snprintf(path, sizeof path, "%s/fixtures/machines/%s", TEST_SOURCE_DIR, name);
    return path;
}

joule_meter *machine_open(struct joule_host *host, const char *sources)
{
    joule_options options = {.struct_size = sizeof options, .sources = sources, .wait_s = 30};
    joule_error error = {0};
    joule_meter *meter = NULL;
    if (meter_open_on(host, false, &options, &meter, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    return meter;
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

double machine_mean_watts(joule_meter *meter, int32_t domain)
{
    struct window w = meter_window(meter, domain, meter->begin_ns, meter_now_ns(meter));
    return w.joules.value / w.covered_s;
}
