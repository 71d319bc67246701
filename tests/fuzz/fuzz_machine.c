/* Fuzz target: any machine at all. Files, links, errors, events and registers under any name, read by every source:
 * no crash, no endless walk, and no energy that falls or is not finite.
 *
 * The input is a list of entries, each ended by a byte 0xFE. The first byte says what it is:
 *     f PATH \n CONTENT         l PATH \n TARGET          e PATH \n ERRNO
 *     p TYPE CONFIG CPU STEP    r CPU ADDRESS STEP        (numbers decimal; the value grows by STEP a second) */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "joule/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEPARATOR   0xFE
#define ENTRIES_MAX 256
#define ROUNDS      6

static uint64_t steps[ENTRIES_MAX];

static void require(bool holds)
{
    if (!holds)
        abort();
}

static int growing(void *context, int64_t time_ns, uint64_t *out_value)
{
    *out_value = *(const uint64_t *)context * (uint64_t)(time_ns / 1000000000);
    return 0;
}

static void put_values(struct joule_host *host, const char *text, uint64_t *step)
{
    struct host_perf_event event;
    unsigned cpu;
    uint32_t address;
    if (text[0] == 'p' && sscanf(text + 1, "%" SCNu32 " %" SCNu64 " %d %" SCNu64, &event.type, &event.config,
                                 &event.cpu, step) == 4)
        host_script_perf(host, &event, growing, step);
    else if (text[0] == 'r' && sscanf(text + 1, "%u %" SCNu32 " %" SCNu64, &cpu, &address, step) == 3)
        host_script_register(host, cpu, address, growing, step);
}

static void put_entry(struct joule_host *host, char *text, uint64_t *step)
{
    char *content = strchr(text, '\n');
    if (!content) {
        put_values(host, text, step);
        return;
    }
    *content++ = '\0';
    if (text[1] != '/')
        return;
    if (text[0] == 'f')
        host_script_text(host, text + 1, content);
    else if (text[0] == 'l')
        host_script_link(host, text + 1, content);
    else if (text[0] == 'e')
        host_script_error(host, text + 1, 1 + abs(atoi(content) % 133));
}

static void put_machine(struct joule_host *host, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < ENTRIES_MAX && size; i++) {
        const uint8_t *end = memchr(data, SEPARATOR, size);
        size_t length = end ? (size_t)(end - data) : size;
        char *text = calloc(1, length + 2); /* text[1] can always be looked at */
        require(text != NULL);
        memcpy(text, data, length);
        put_entry(host, text, &steps[i]);
        free(text);
        length += end != NULL;
        data += length;
        size -= length;
    }
}

static void check(joule_meter *meter)
{
    for (size_t i = 0; i < joule_domain_count(meter); i++) {
        const struct channel *ch = meter->channels[i].channel;
        double last = 0;
        for (size_t k = 0; k < ch->curve.count; k++) {
            require(isfinite(ch->curve.points[k].joules) && ch->curve.points[k].joules >= last);
            last = ch->curve.points[k].joules;
        }
    }
    struct window w = meter_window(meter, JOULE_TOTAL, meter->begin_ns, meter_now_ns(meter));
    require(isnan(w.joules.value) || w.joules.value >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct joule_host *host = host_script_open();
    put_machine(host, data, size);
    joule_options options = {.struct_size = sizeof options};
    joule_meter *meter;
    require(meter_open_on(host, false, &options, &meter, NULL) == JOULE_OK);
    for (int round = 1; round <= ROUNDS; round++) {
        host_script_set_time(host, meter_now_ns(meter) + INT64_C(600000000));
        meter_tick(meter);
    }
    check(meter);
    joule_close(meter);
    host->ops->close(host);
    return 0;
}
