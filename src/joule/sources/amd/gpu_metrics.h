/* joule/sources/amd/gpu_metrics.h - parses gpu_metrics, the table of values that AMD's kernel driver provides
 * for each board.
 *
 * gpu_metrics.c contains the offsets of energy, activity, clocks and fan in each revision of the table.
 * Note: a field with all bits set means that the board does not report the value. An unknown revision is not
 * read, even if it resembles a known one. */
#ifndef JOULE_GPU_METRICS_H
#define JOULE_GPU_METRICS_H

#include <joule/base.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_METRICS_MAX_BYTES 4096 /* larger than any known revision */
/* Joules per count. AMD's libraries use 15.3 uJ. The driver's headers define 2^-16 J, 0.27 % less. */
#define GPU_METRICS_UNIT_J 0x1p-16

/* Writes the energy counter and its modulus; a modulus of 0 means 2^64. Returns OK, FAILED if the table is
 * truncated, or UNSUPPORTED if its revision is unknown or reports no counter for this board. */
joule_status gpu_metrics_read_energy(const void *bytes, size_t length, uint64_t *out_counts,
                                     uint64_t *out_modulus);

/* Values of a table other than energy. NaN: not reported by the board, or not in this revision. */
struct gpu_metrics {
    double busy, memory_busy;                       /* per cent */
    double clock_megahertz, memory_clock_megahertz; /* the highest of several shader clocks */
    double fan_rpm;
    uint32_t clock_reasons; /* JOULE_CLOCKS_..., or JOULE_CLOCKS_UNKNOWN */
};

/* Returns metrics with all values unknown. */
struct gpu_metrics gpu_metrics_unknown(void);
/* Parses the other values of the table. Returns OK, FAILED or UNSUPPORTED as gpu_metrics_read_energy does.
 * Always sets *out_metrics. */
joule_status gpu_metrics_read(const void *bytes, size_t length, struct gpu_metrics *out_metrics);

#endif
