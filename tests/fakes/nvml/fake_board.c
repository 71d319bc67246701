/* tests/fakes/nvml/fake_board.c - parses the script and models the boards' physics. See fake_board.h. */
#include "fake_board.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "../fake_words.h"

static const struct {
    const char *name;
    size_t offset;
    double initial;
} script_keys[] = {
#define KEY(name, initial)                                                                                   \
    {                                                                                                        \
#name, offsetof(struct fake_board, name), initial                                                    \
    }
    KEY(watts, 90),
    KEY(peak_watts, 400),
    KEY(period_ms, 1000),
    KEY(duty, 0),
    KEY(memory_watts, 25),
    KEY(module_watts, 0),
    KEY(counts_module, 0),
    KEY(module_energy, 0),
    KEY(update_ms, 20),
    KEY(ring_ms, 20),
    KEY(energy, 1),
    KEY(power, 1),
    KEY(fields, 1),
    KEY(average_field, 1),
    KEY(instant_field, 1),
    KEY(scoped_energy_field, 1),
    KEY(energy_field_type, 3),
    KEY(gpm, 1),
    KEY(architecture, 9),
    KEY(major, 9),
    KEY(minor, 0),
    KEY(mig, 0),
    KEY(denied, 0),
    KEY(superchip, 0),
    KEY(limit_watts, 700),
    KEY(celsius, 41),
    KEY(memory_celsius, 55),
    KEY(processes, 1),
    KEY(uninitialized_at_ms, -1),
    KEY(lost_at_ms, -1),
    KEY(reset_at_ms, -1),
    KEY(transient_at_ms, -1),
    KEY(block_at_ms, -1),
    KEY(block_s, 30),
    KEY(encoder, 0),
    KEY(decoder, 0),
    KEY(fans, 0),
    KEY(fan_percent, 30),
    KEY(pcie_counts, 1),
    KEY(transmit_mb, 0),
    KEY(receive_mb, 0),
    KEY(replays, 0),
    KEY(ecc, 0),
    KEY(ecc_uncorrected, 0),
    KEY(xid_events, 1),
    KEY(xid_at_ms, -1),
    KEY(xid, 79),
#undef KEY
};
#define KEY_COUNT (sizeof script_keys / sizeof script_keys[0])

static double *key_value(struct fake_board *board, size_t key)
{
    return (double *)((char *)board + script_keys[key].offset);
}

static void set_defaults(struct fake_script *script)
{
    *script = (struct fake_script){.board_count = 1};
    for (unsigned b = 0; b < FAKE_MAX_BOARDS; b++) {
        script->boards[b].index = b;
        script->boards[b].part = -1;
        for (size_t key = 0; key < KEY_COUNT; key++)
            *key_value(&script->boards[b], key) = script_keys[key].initial;
    }
}

static bool set_key(void *context, const char *name, double value)
{
    struct fake_script *script = context;
    unsigned first = 0, last = FAKE_MAX_BOARDS - 1;
    size_t digits = strspn(name, "0123456789");
    if (digits && name[digits] == '.') {
        first = last = (unsigned)strtoul(name, NULL, 10);
        if (first >= FAKE_MAX_BOARDS)
            return false;
        name += digits + 1;
    }
    if (strcmp(name, "boards") == 0)
        script->board_count = value < FAKE_MAX_BOARDS ? (unsigned)value : FAKE_MAX_BOARDS;
    else if (strcmp(name, "init_code") == 0)
        script->init_code = value;
    else if (strcmp(name, "ring_monotonic") == 0)
        script->ring_monotonic = value;
    else {
        size_t key = 0;
        while (key < KEY_COUNT && strcmp(script_keys[key].name, name) != 0)
            key++;
        if (key == KEY_COUNT)
            return false;
        for (unsigned b = first; b <= last; b++)
            *key_value(&script->boards[b], key) = value;
    }
    return true;
}

bool fake_script_parse(struct fake_script *script, const char *text)
{
    set_defaults(script);
    bool all_known = fake_words_each(text, set_key, script);
    for (unsigned b = 0; b < FAKE_MAX_BOARDS; b++) {
        for (int part = 0; part < FAKE_MAX_PARTS; part++) {
            script->parts[b][part] = script->boards[b];
            script->parts[b][part].part = part;
        }
    }
    return all_known;
}

double fake_power(const struct fake_board *board, double time_s)
{
    double phase = fmod(time_s * 1e3, board->period_ms) / board->period_ms;
    return phase < board->duty ? board->peak_watts : board->watts;
}

double fake_joules(const struct fake_board *board, double time_s)
{
    double periods = time_s * 1e3 / board->period_ms;
    double whole = floor(periods);
    /* time at peak power, in periods */
    double high = whole * board->duty + fmin(periods - whole, board->duty);
    return (board->watts * periods + (board->peak_watts - board->watts) * high) * board->period_ms / 1e3;
}

static double last_update_s(const struct fake_board *board, double time_s)
{
    double update_s = board->update_ms / 1e3;
    return floor(time_s / update_s) * update_s;
}

double fake_counter_joules(const struct fake_board *board, double time_s)
{
    return fake_joules(board, last_update_s(board, time_s));
}

static double mean_watts(const struct fake_board *board, double end_s, double length_s)
{
    return (fake_joules(board, end_s) - fake_joules(board, end_s - length_s)) / length_s;
}

double fake_instant_watts(const struct fake_board *board, double time_s)
{
    return mean_watts(board, last_update_s(board, time_s), board->update_ms / 4e3);
}

double fake_average_watts(const struct fake_board *board, double time_s)
{
    return mean_watts(board, last_update_s(board, time_s), 1.0);
}
