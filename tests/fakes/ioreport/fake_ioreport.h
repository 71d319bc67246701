/* fakes/ioreport/fake_ioreport.h - the state of the fake libIOReport, which a test sets.
 *
 * The state is the library's symbol `fake_ioreport`. Note: a channel's count is its watts multiplied by
 * now_ns. If now_ns is negative, the machine's clock is used instead. Objects have reference counts. */
#ifndef FAKE_IOREPORT_H
#define FAKE_IOREPORT_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_IOREPORT_CHANNELS 12

struct fake_ioreport {
    struct {
        const char *name, *unit; /* name NULL ends the list; unit NULL means that the channel has no unit */
        double watts, unit_joules;
    } channels[FAKE_IOREPORT_CHANNELS];
    int64_t now_ns;
    bool has_no_group, gives_no_sample, gives_no_delta, is_frozen, falls_back;
    long objects;    /* number of objects that are not released */
    unsigned faults; /* number of uses of invalid objects or of objects of the wrong type */
};

#endif
