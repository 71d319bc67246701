/* joule/sources/amd/gpu_metrics.h - reads gpu_metrics, the table of figures that AMD's kernel driver has for
 * each board.
 *
 * Knows the offsets of energy, activity, clocks and fan in each revision of the table.
 * Note: a field with all bits set is missing on the board. A revision that is not known here is not read,
 * even if it resembles a known one.
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

/* Figures of a table beside the energy. NaN: missing on the board or in the revision. */
struct gpu_metrics {
    double busy, memory_busy;                       /* percent */
    double clock_megahertz, memory_clock_megahertz; /* the highest of several shader clocks */
    double fan_rpm;
    uint32_t clock_reasons; /* JOULE_CLOCKS_..., or JOULE_CLOCKS_UNKNOWN */
};

/* Returns metrics with all figures unknown. */
struct gpu_metrics gpu_metrics_unknown(void);
/* OK, FAILED or UNSUPPORTED as above; *out_metrics is always set. */
joule_status gpu_metrics_read(const void *bytes, size_t length, struct gpu_metrics *out_metrics);

#endif
