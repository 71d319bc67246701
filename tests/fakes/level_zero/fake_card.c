/* tests/fakes/level_zero/fake_card.c - the script's keys, their defaults, and its parser. See fake_card.h. */
#include "fake_card.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "../fake_words.h"

static const struct {
    const char *name;
    size_t offset;
    double initial;
} keys[] = {
#define KEY(name, initial)                                                                                   \
    {                                                                                                        \
#name, offsetof(struct fake_card, name), initial                                                     \
    }
    KEY(type, 1),          KEY(integrated, 0),      KEY(bus, 3),
    KEY(tiles, 0),         KEY(denied, 0),          KEY(card, 1),
    KEY(package, 1),       KEY(extension, 1),       KEY(energy, 1),
    KEY(watts, 100),       KEY(start_joules, 22e6), KEY(stamp_s, 0),
    KEY(refresh_ms, 0),    KEY(limit_watts, 275),   KEY(limits_extended, 1),
    KEY(celsius, 61.5),    KEY(memory_celsius, 72), KEY(engine_all, 1),
    KEY(engines, 1),       KEY(busy, 0.75),         KEY(copy_busy, 0.25),
    KEY(memory_gib, 16),   KEY(used_gib, 3),        KEY(fall_at_ms, -1),
    KEY(fall_joules, 200), KEY(lost_at_ms, -1),     KEY(sleep_at_ms, -1),
    KEY(block_at_ms, -1),  KEY(block_s, 3),
#undef KEY
};
#define KEY_COUNT (sizeof keys / sizeof keys[0])

static void set_defaults(struct fake_script *script)
{
    const char *sysman = getenv("ZES_ENABLE_SYSMAN");
    *script = (struct fake_script){.card_count = 1, .sysman = sysman && strcmp(sysman, "1") == 0};
    for (unsigned c = 0; c < FAKE_MAX_CARDS; c++) {
        for (size_t key = 0; key < KEY_COUNT; key++)
            *(double *)((char *)&script->cards[c] + keys[key].offset) = keys[key].initial;
        script->cards[c].bus += c;
    }
}

static bool set_key(void *context, const char *name, double value)
{
    struct fake_script *script = context;
    unsigned first = 0, last = FAKE_MAX_CARDS - 1;
    if (name[0] >= '0' && name[0] < '0' + FAKE_MAX_CARDS && name[1] == '.') {
        first = last = (unsigned)(name[0] - '0');
        name += 2;
    }
    double *global = strcmp(name, "init_code") == 0     ? &script->init_code
                     : strcmp(name, "device_code") == 0 ? &script->device_code
                     : strcmp(name, "sysman") == 0      ? &script->sysman
                                                        : NULL;
    if (global) {
        *global = value;
        return true;
    }
    if (strcmp(name, "cards") == 0) {
        script->card_count = value < FAKE_MAX_CARDS ? (unsigned)value : FAKE_MAX_CARDS;
        return true;
    }
    for (size_t key = 0; key < KEY_COUNT; key++) {
        if (strcmp(keys[key].name, name) != 0)
            continue;
        for (unsigned c = first; c <= last; c++)
            *(double *)((char *)&script->cards[c] + keys[key].offset) = value;
        return true;
    }
    return false;
}

bool fake_script_parse(struct fake_script *script, const char *text)
{
    set_defaults(script);
    return fake_words_each(text, set_key, script);
}
