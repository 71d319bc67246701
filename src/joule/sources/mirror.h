/* joule/sources/mirror.h - detects package counters that repeat another package's energy.
 *
 * On processors with several dies, the kernel may show each die as a package, while each counter reports the
 * energy of the whole processor. Each counter alone is correct, but the sum of the counters is a multiple of
 * the real energy.
 * Note: equal power alone proves nothing. Two counters are mirrors only if power changed many times and both
 * counters showed the same energy at every reading. A sensor's tick and the delay between two reads can hide
 * some energy, so differences up to this amount are ignored. Raw register counts must agree, too. A single
 * larger difference rules out the pair for good. */
#ifndef JOULE_MIRROR_H
#define JOULE_MIRROR_H

#include <stddef.h>
#include <stdint.h>

struct channel;

struct mirror {
    /* the earlier channel whose energy this channel repeats; NULL: none found so far */
    const struct channel *of;
    /* The members below are the state of mirror_check. */
    /* Index of the source's channel that is compared with this channel. Channels with lower indices are ruled
     * out. */
    size_t candidate;
    struct mirror_sample {
        uint64_t total; /* value of counter.total */
        int64_t time_ns;
    } own_start, other_start, own_last, other_last;
    uint64_t breaks; /* resets and rejected steps of both counters; a change restarts the comparison */
    double last_watts;
    uint32_t changes; /* number of power changes that both counters showed */
};

/* Compares the package counters of channels[0..count) and sets `of` of each mirror that it detects. Call it
 * after each round of readings, with the lane locked. */
void mirror_check(struct channel *const *channels, size_t count);

#endif
