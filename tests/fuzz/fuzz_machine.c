/* Fuzz target: a machine with any files, links, errors, events and registers, read by every source. Reading
 * must not crash or search endlessly. Checks that energy is finite and never decreases.
 *
 * The input is a list of entries, each ended by a byte 0xFE. The first byte of an entry selects its kind:
 *     f PATH \n CONTENT
 *     l PATH \n TARGET
 *     e PATH \n ERRNO
 *     p TYPE CONFIG CPU STEP
 *     r CPU ADDRESS STEP       (decimal numbers; the value grows by STEP per second) */
#include <inttypes.h>
#include <stdio.h>
#include "machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ENTRIES_MAX 256
#define ROUNDS      6

static uint64_t steps[ENTRIES_MAX];

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

static void put_entry(void *context, size_t index, char *text)
{
    struct joule_host *host = context;
    char *content = strchr(text, '\n');
    if (!content) {
        put_values(host, text, &steps[index]);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct joule_host *host = host_script_open();
    each_piece(data, size, ENTRIES_MAX, put_entry, host);
    joule_meter *meter = open_machine(host, NULL);
    for (int round = 0; round < ROUNDS; round++)
        read_round(host, meter);
    require_sound_energy(meter);
    require_sound_devices(meter);
    close_machine(host, meter);
    return 0;
}
