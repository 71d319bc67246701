/* fakes/ioreport/fake_ioreport.h - what the stand-in for macOS' libIOReport does.
 *
 * Owns the state that a test sets in the library: it is the library's symbol `fake_ioreport`. Newcomers: a channel's counts are
 * watts times now_ns, or times the machine's own clock where now_ns is negative; objects count their references.
 */
#ifndef FAKE_IOREPORT_H
#define FAKE_IOREPORT_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
