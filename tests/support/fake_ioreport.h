/* support/fake_ioreport.h - a stand-in for macOS' libIOReport and the few functions of CoreFoundation behind it.
 *
 * Owns functions with the real forms, over objects that count their references: what is not released, or is released once
 * too often, is found. Newcomers: a channel's counts are watts times the virtual time that the test sets.
 */
#ifndef TEST_FAKE_IOREPORT_H
#define TEST_FAKE_IOREPORT_H

#include "joule/host/host.h"

#define FAKE_IOREPORT_CHANNELS 12

struct fake_ioreport {
    struct {
        const char *name, *unit; /* NULL name ends the list; NULL unit: it tells none */
        double watts, unit_joules;
    } channels[FAKE_IOREPORT_CHANNELS];
    int64_t now_ns;
    bool has_no_group, gives_no_sample, gives_no_delta, is_frozen, falls_back;
    long objects;    /* that have not been released */
    unsigned faults; /* uses of what is no object, or of the wrong kind */
};
extern struct fake_ioreport fake_ioreport;

/* Puts it into a scripted host under its usual name, without the function `missing` (NULL: with all). */
void fake_ioreport_put(struct joule_host *host, const char *missing);

#endif
