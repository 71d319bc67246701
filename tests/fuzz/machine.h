/* tests/fuzz/machine.h - shared code of fuzz targets that build a whole machine from their input.
 *
 * Splits the input, runs rounds of readings, and checks rules that every meter must follow. Note: a piece may
 * contain any byte except the separator. Functions that read a piece as text stop at its first zero byte. */
#ifndef FUZZ_MACHINE_H
#define FUZZ_MACHINE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/api/open.h"
#include "require.h"

#define FUZZ_SEPARATOR 0xFE
#define FUZZ_STEP_NS   INT64_C(600000000) /* virtual time between two rounds, in ns */

/* Splits the input at separators and calls take() for each of the first `max_pieces` pieces. text: a
 * terminated copy of the piece, which take() may modify. The byte after the terminator is also zero. */
static inline void each_piece(const uint8_t *data, size_t size, size_t max_pieces,
                              void (*take)(void *context, size_t index, char *text), void *context)
{
    for (size_t i = 0; i < max_pieces && size; i++) {
        const uint8_t *end = memchr(data, FUZZ_SEPARATOR, size);
        size_t length = end ? (size_t)(end - data) : size;
        char *text = calloc(1, length + 2);
        require(text != NULL);
        memcpy(text, data, length);
        take(context, i, text);
        free(text);
        length += end != NULL;
        data += length;
        size -= length;
    }
}

static inline joule_meter *open_machine(struct joule_host *host, const char *sources)
{
    joule_options options = {.struct_size = sizeof options, .sources = sources, .flags = JOULE_OPEN_DEVICES};
    joule_meter *meter;
    require(meter_open_on(host, false, &options, &meter, NULL) == JOULE_OK);
    return meter;
}

static inline void read_round(struct joule_host *host, joule_meter *meter)
{
    host_script_set_time(host, meter_now_ns(meter) + FUZZ_STEP_NS);
    meter_tick(meter);
}

/* Requires that all energies are finite and never decrease, and that the total is not negative. */
static inline void require_sound_energy(joule_meter *meter)
{
    for (size_t i = 0; i < joule_domain_count(meter); i++) {
        const struct curve *curve = &meter->channels[i].channel->curve;
        double last = 0;
        for (size_t k = 0; k < curve->count; k++) {
            require(isfinite(curve->points[k].joules) && curve->points[k].joules >= last);
            last = curve->points[k].joules;
        }
    }
    struct window w = meter_window(meter, JOULE_TOTAL, meter->begin_ns, meter_now_ns(meter));
    require(isnan(w.joules.value) || w.joules.value >= 0);
}

/* Requires that each value of a device is unknown or in its range. */
static inline void require_sound_devices(joule_meter *meter)
{
    size_t count = joule_device_count(meter);
    for (size_t i = 0; i < count; i++) {
        joule_device device = {.struct_size = sizeof device};
        require(joule_device_get(meter, i, &device) == JOULE_OK);
        require(isnan(device.busy) || (device.busy >= 0 && device.busy <= 1));
        require(isnan(device.clock_megahertz) || device.clock_megahertz >= 0);
        require(isnan(device.power_limit_watts) || device.power_limit_watts >= 0);
        require(device.process_count == 0 || device.has_process_list);
    }
}

static inline void close_machine(struct joule_host *host, joule_meter *meter)
{
    joule_close(meter);
    host->ops->close(host);
}

#endif
