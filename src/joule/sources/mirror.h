/* joule/sources/mirror.h - detects package counters that repeat another package's energy.
 *
 * On processors with several dies, the kernel may show each die as a package, while each counter reports the
 * energy of the whole processor. The sum of such counters is a multiple of the real energy; one of them is
 * correct.
 * Note: equal power alone proves nothing. Two counters are mirrors if power changed many times and both
 * followed at every reading. Their steps may differ by the energy that one tick and the time between the two
 * reads can hide. Raw register counts must be equal, too. After one larger difference, two counters are no
 * longer candidates. */
#ifndef JOULE_MIRROR_H
#define JOULE_MIRROR_H

#include <stddef.h>
#include <stdint.h>

struct channel;

struct mirror {
    const struct channel *of; /* the earlier channel that this one repeats; NULL: none found so far */
    /* State of mirror_check. */
    /* Index of the source's channel in the current comparison; earlier ones are ruled out. */
    size_t candidate;
    struct mirror_sample {
        uint64_t total; /* counter.total */
        int64_t time_ns;
    } own_start, other_start, own_last, other_last;
    uint64_t breaks; /* resets and rejected steps of both counters; a change restarts the comparison */
    double last_watts;
    uint32_t changes; /* number of power changes that both counters followed */
};

/* Compares the packages of a source, after a round of readings. The caller holds the lane's lock. */
void mirror_check(struct channel *const *channels, size_t count);

#endif
