/* tests/fakes/level_zero/fake_card.h - Intel GPUs that exist only in a script.
 *
 * Owns what a fake device is made of: figures, and what goes wrong when. fake_level_zero.c dresses it in the vendor's
 * interface.
 * Newcomers: the script is text, "cards=2; watts=90; 1.type=5": a number and a dot speak of one card. It comes from
 * JOULE_FAKE_LEVEL_ZERO, or from the file that is named there after an @. All keys stand in fake_card.c.
 */
#ifndef FAKE_CARD_H
#define FAKE_CARD_H

#include <stdbool.h>

#define FAKE_MOST_CARDS 4
#define FAKE_MOST_TILES 2

struct fake_card {
    double type;       /* 1: GPU, 5: neural processor */
    double integrated; /* 1: part of a processor */
    double bus;        /* of its PCI address; the others are 0 */
    double tiles;      /* each with domains, sensors, engines and memory of its own */
    double denied;     /* 1: nothing of it may be read */

    double card, package; /* 1: has such a power domain */
    double extension;     /* 1: the driver tells what a domain is */
    double energy;        /* 1: works; 0: not supported; -1: stands still; -2: not permitted */
    double watts, start_joules;
    double stamp_s;                      /* added to the driver's stamps: another clock */
    double refresh_ms;                   /* of count and stamp; 0: at each reading */
    double limit_watts, limits_extended; /* limits_extended 0: an older runtime's function alone */

    double celsius, memory_celsius; /* below -273: no such sensor */
    double engine_all;              /* 1: a group that means all engines; 0: single ones only */
    double engines;                 /* 1: activity works; 0: not supported; -1: not permitted */
    double busy, copy_busy;         /* shares of time: of the first engine and of the second */
    double memory_gib, used_gib;

    /* In milliseconds after the driver was started; < 0: never. */
    double fall_at_ms, fall_joules; /* the counter falls to this and goes on from there */
    double lost_at_ms;              /* everything answers DEVICE_LOST */
    double sleep_at_ms;             /* for 3 s everything answers LOW_POWER_STATE */
    double block_at_ms, block_s;    /* the first call after this takes so long */
};

struct fake_script {
    unsigned card_count;
    double init_code, device_code; /* what starting and listing devices answer */
    double sysman;                 /* 1: ZES_ENABLE_SYSMAN=1 was set when the program started */
    struct fake_card cards[FAKE_MOST_CARDS];
};

/* Cards at their defaults, then the script's text; false for a key that does not exist. */
bool fake_script_parse(struct fake_script *script, const char *text);

#endif
