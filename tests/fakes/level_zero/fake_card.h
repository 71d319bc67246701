/* tests/fakes/level_zero/fake_card.h - scripted Intel GPUs.
 *
 * Describes a fake device: its values, and its faults with their times. fake_level_zero.c implements the
 * vendor's interface. The script is text such as "cards=2; watts=90; 1.type=5". A number and a dot select one
 * card: "1.type=5" sets `type` of card 1 only. JOULE_FAKE_LEVEL_ZERO contains the script, or '@' and the name
 * of a file with it. fake_card.c lists all keys. */
#ifndef FAKE_CARD_H
#define FAKE_CARD_H

#include <stdbool.h>

#define FAKE_MAX_CARDS 4
#define FAKE_MAX_TILES 2

struct fake_card {
    double type;       /* 1: GPU, 5: neural processor */
    double integrated; /* 1: part of a processor */
    double bus;        /* bus number of the PCI address; the other parts of the address are 0 */
    double tiles;      /* number of tiles, each with its own domains, sensors, engines and memory */
    double denied;     /* 1: reading is denied */

    double card, package; /* 1: the card has this power domain */
    double extension;     /* 1 means that the driver describes its power domains */
    double energy;        /* 1: works; 0: not supported; -1: constant; -2: denied */
    double watts, start_joules;
    double stamp_s;    /* seconds added to the driver's timestamps, as if it had another clock */
    double refresh_ms; /* update period of count and timestamp; 0 means an update at each reading */
    /* If limits_extended is 0, the function for extended limits is missing, as in older runtimes. */
    double limit_watts, limits_extended;

    double celsius, memory_celsius; /* a value below -273: no sensor */
    double engine_all;              /* 1: one group for all engines; 0: single engines only */
    double engines;                 /* 1: activity works; 0: not supported; -1: denied */
    double busy, copy_busy;         /* busy fractions of the first and the second engine */
    double memory_gib, used_gib;

    /* Times in milliseconds after the driver's start. < 0 means never. */
    double fall_at_ms, fall_joules; /* the counter falls to fall_joules and continues */
    double lost_at_ms;              /* all calls return DEVICE_LOST */
    double sleep_at_ms;             /* from this time on, for 3 s, all calls return LOW_POWER_STATE */
    double block_at_ms, block_s;    /* the first call after this time blocks for block_s */
};

struct fake_script {
    unsigned card_count;
    double init_code, device_code; /* results of starting and of listing devices */
    double sysman;                 /* 1: ZES_ENABLE_SYSMAN=1 was set at program start */
    struct fake_card cards[FAKE_MAX_CARDS];
};

/* Sets cards to their defaults, then parses the script. Returns false for an unknown key. */
bool fake_script_parse(struct fake_script *script, const char *text);

#endif
