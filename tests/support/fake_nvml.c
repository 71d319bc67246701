/* tests/support/fake_nvml.c - see fake_nvml.h. */
#include "joule/api/open.h"
#include "support/fake_nvml.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/sources/nvidia/nvml_abi.h"
#include "support/machine.h"

#define BEGIN_NS INT64_C(1000300000000) /* not a multiple of any period of the fake */
#define STEP_NS  INT64_C(100000000)

static void *symbol(struct fake_nvml *fake, const char *name)
{
    return dlsym(fake->library, name);
}

static void set_time(struct fake_nvml *fake, int64_t time_ns)
{
    void (*set)(int64_t, int64_t);
    *(void **)&set = symbol(fake, "fake_nvml_set_time");
    fake->time_ns = time_ns;
    host_script_set_time(fake->host, time_ns);
    set(time_ns, fake->host->ops->clock_ns(fake->host, CLOCK_REALTIME));
}

bool fake_nvml_prepare(struct fake_nvml *fake, const char *folder, const char *line, const char *script)
{
    char path[4096];
    void (*set_script)(const char *);
    *fake = (struct fake_nvml){0};
    snprintf(path, sizeof path, "%s/fakes/nvml/%s/libnvidia-ml.so.1", folder, line);
    fake->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (fake->library == NULL)
        return false;
    fake->host = host_script_open();
    *(void **)&set_script = symbol(fake, "fake_nvml_script");
    set_script(script);
    set_time(fake, BEGIN_NS);
#define ADD(name, parameters)                                                                                \
    if (symbol(fake, "nvml" #name) != NULL)                                                                  \
        fake->symbols[fake->symbol_count++] =                                                                \
            (struct script_symbol){"nvml" #name, symbol(fake, "nvml" #name)};
    NVML_FUNCTIONS(ADD)
#undef ADD
    return true;
}

void fake_nvml_remove(struct fake_nvml *fake, const char *name)
{
    for (size_t i = 0; i < fake->symbol_count; i++) {
        if (strcmp(fake->symbols[i].name, name) == 0)
            fake->symbols[i] = fake->symbols[--fake->symbol_count];
    }
}

static void open_with(struct fake_nvml *fake, uint32_t flags)
{
    host_script_library(fake->host, "libnvidia-ml.so.1", fake->symbols, fake->symbol_count);
    joule_options options = {.struct_size = sizeof options, .flags = flags, .sources = "nvml"};
    joule_error error;
    if (meter_open_on(fake->host, true, &options, &fake->meter, &error) != JOULE_OK) {
        fprintf(stderr, "fake nvml: %s\n", error.message);
        abort();
    }
}

void fake_nvml_open(struct fake_nvml *fake)
{
    open_with(fake, 0);
}

void fake_nvml_open_devices(struct fake_nvml *fake)
{
    open_with(fake, JOULE_OPEN_DEVICES);
}

void fake_nvml_run(struct fake_nvml *fake, double seconds)
{
    int64_t end_ns = fake->time_ns + (int64_t)(seconds * 1e9);
    while (fake->time_ns < end_ns) {
        set_time(fake, fake->time_ns + STEP_NS);
        meter_tick(fake->meter);
    }
}

void fake_nvml_close(struct fake_nvml *fake)
{
    joule_close(fake->meter);
    fake->meter = NULL;
}

void fake_nvml_free_clock(struct fake_nvml *fake)
{
    void (*set)(int64_t, int64_t);
    *(void **)&set = symbol(fake, "fake_nvml_set_time");
    set(-1, -1);
}

struct channel *fake_nvml_channel(struct fake_nvml *fake, const char *name)
{
    for (size_t i = 0; i < fake->meter->channel_count; i++) {
        if (strcmp(fake->meter->channels[i].channel->info.name, name) == 0)
            return fake->meter->channels[i].channel;
    }
    return NULL;
}

struct source *fake_nvml_source(struct fake_nvml *fake)
{
    return fake->meter->lanes[1]->sources[0];
}

unsigned long fake_nvml_call_count(struct fake_nvml *fake)
{
    unsigned long (*calls)(void);
    *(void **)&calls = symbol(fake, "fake_nvml_calls");
    return calls();
}

joule_device fake_nvml_device(struct fake_nvml *fake, const char *folder, const char *line,
                              const char *script, size_t position)
{
    if (!fake->meter) {
        assert_true(fake_nvml_prepare(fake, folder, line, script));
        fake_nvml_open_devices(fake);
        fake_nvml_run(fake, 3);
    }
    return machine_device(fake->meter, position);
}
