/* joule/sources/cpu/cpu_calibration.c - see cpu_calibration.h. */
#include "joule/sources/cpu/cpu_calibration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/cpu/cpu_info.h"

#define FILE_SIZE     ((size_t)128 * 1024)
#define SECONDS_A_DAY 86400.0

bool cpu_calibration_path(struct joule_host *host, char out_path[CALIBRATION_PATH_SIZE])
{
    const char *config = host->ops->env(host, "XDG_CONFIG_HOME"), *home = host->ops->env(host, "HOME");
    struct text path;
    text_init(&path, out_path, CALIBRATION_PATH_SIZE);
    if (config && *config == '/')
        text_printf(&path, "%s/joule/calibration.json", config);
    else if (home && *home == '/')
        text_printf(&path, "%s/.config/joule/calibration.json", home);
    return path.length > 0 && path.length < CALIBRATION_PATH_SIZE;
}

static void set_state(struct joule_host *host, const struct cost_cpu *cpu, struct cpu_calibration *found)
{
    struct cpu_info info;
    cpu_info_read(host, &info);
    double now = (double)host->ops->clock_ns(host, CLOCK_REALTIME) / (double)NS_PER_S;
    found->age_days = (now - (double)found->calibration.unix_seconds) / SECONDS_A_DAY;
    found->state = !cost_calibration_is_of(&found->calibration, cpu, info.stepping) ? CALIBRATION_FOREIGN
                   : found->age_days <= CALIBRATION_OLD_DAYS                        ? CALIBRATION_GOOD
                                                                                    : CALIBRATION_OLD;
}

static void read_calibration(struct joule_host *host, const struct cost_cpu *cpu, char *text,
                             struct cpu_calibration *found)
{
    ssize_t length = host->ops->read_file(host, found->path, text, FILE_SIZE);
    if (length == -ENOENT || length == -ENOTDIR)
        return;
    found->state = CALIBRATION_BROKEN;
    if (length < 0)
        error_set(&found->error, JOULE_FAILED, "cannot read %s: %s", found->path, strerror((int)-length));
    else if (cost_calibration_parse(text, (size_t)length, found->path, &found->calibration, &found->error) ==
             JOULE_OK)
        set_state(host, cpu, found);
}

bool cpu_calibration_is_used(const struct cpu_calibration *found)
{
    return found->state == CALIBRATION_GOOD || found->state == CALIBRATION_OLD;
}

/* Chooses the first file that can be used. If there is none, reports the first file that exists. */
void cpu_calibration_find(struct joule_host *host, const struct cost_cpu *cpu, struct cpu_calibration *out)
{
    char *text = malloc(FILE_SIZE);
    *out = (struct cpu_calibration){.state = CALIBRATION_NONE};
    if (!text)
        return;
    if (cpu_calibration_path(host, out->path))
        read_calibration(host, cpu, text, out);
    if (!cpu_calibration_is_used(out)) {
        struct cpu_calibration system = {.path = CALIBRATION_SYSTEM_PATH};
        read_calibration(host, cpu, text, &system);
        if (out->state == CALIBRATION_NONE || cpu_calibration_is_used(&system))
            *out = system;
    }
    free(text);
}
