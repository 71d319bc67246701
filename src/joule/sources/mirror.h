/* joule/sources/mirror.h - packages that show another package's energy.
 *
 * Owns the finding of mirrored counters: on processors of several dies the kernel may see each die as a package, and
 * each answers with the energy of the whole. Their sum is a multiple of what was used; one of them is the truth.
 * Newcomers: equal power proves nothing, however long. Two counters are one when power changed many times and both
 * followed at every reading, to within what a tick and the time between the two reads can hide; counts taken from
 * registers must be the same too. One difference refutes it.
 */
#ifndef JOULE_MIRROR_H
#define JOULE_MIRROR_H

#include <stddef.h>
#include <stdint.h>

struct channel;

struct mirror {
    const struct channel *of; /* the earlier channel that this one repeats; NULL: none, as far as is known */
    /* kept by mirror_notice: */
    size_t candidate; /* of the source's channels the one compared with; those before are ruled out */
    struct mirror_look {
        uint64_t total; /* counter.total */
        int64_t time_ns;
    } own_start, other_start, own_last, other_last;
    uint64_t breaks; /* steps that either counter lost; one more, and the comparison starts again */
    double last_watts;
    uint32_t changes; /* of power, which both followed */
};

/* After a round of readings of a source: compares its packages. The lane's lock is held. */
void mirror_notice(struct channel *const *channels, size_t count);

#endif
