/* joule/sources/amd/gpu_metrics.h - the table of figures that AMD's kernel driver gives of each board.
 *
 * Owns where energy, activity, clocks and fan stand in each revision of the file gpu_metrics. Newcomers: a
 * field with all bits set is one that the board does not have, and a revision that is not known here says
 * nothing, however much it looks like one that is.
 */
#ifndef JOULE_GPU_METRICS_H
#define JOULE_GPU_METRICS_H

#include <joule/base.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_METRICS_MOST_BYTES 4096 /* more than any known revision has */
/* Joules of a count: AMD's libraries say 15.3 uJ, the driver's headers 2^-16 J, which is 0.27 % less. */
#define GPU_METRICS_UNIT_J 0x1p-16

/* The energy counter, and the number of its values, 0 for 2^64. FAILED: the table is cut. UNSUPPORTED: it is of a revision
 * that has no such counter or is not known, or the board leaves it out. */
joule_status gpu_metrics_energy(const void *bytes, size_t length, uint64_t *out_counts,
                                uint64_t *out_modulus);

/* What a table says beside the energy. NaN: the board, or the revision, does not tell. */
struct gpu_metrics {
    double busy, memory_busy;                       /* percent */
    double clock_megahertz, memory_clock_megahertz; /* of several shader clocks the highest */
    double fan_rpm;
    uint32_t clock_reasons; /* JOULE_CLOCKS_..., or JOULE_CLOCKS_UNKNOWN */
};

/* All unknown. */
struct gpu_metrics gpu_metrics_unknown(void);
/* OK, FAILED or UNSUPPORTED as above; *out_metrics is always set. */
joule_status gpu_metrics_read(const void *bytes, size_t length, struct gpu_metrics *out_metrics);

#endif
