/* joule/model.h - expected power and energy of this machine's CPUs, from libjoule's cost model.
 *
 * No sensor is read. The figures describe typical machines of the CPU's family; the intervals state how far
 * this machine may differ.
 */
#ifndef JOULE_MODEL_H
#define JOULE_MODEL_H

#include <joule/quantity.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The expected power of this machine's CPUs. */
typedef struct joule_cpu_model {
    uint32_t struct_size; /* set by the caller to sizeof(joule_cpu_model) before the call */
    uint32_t cores;       /* physical cores of all packages; virtual CPUs in a virtual machine; 0: unknown */
    joule_quantity idle_watts; /* idle power of all packages together */
    joule_quantity core_watts; /* additional power of one busy core at reference_hz */
    double reference_hz;       /* NaN: unknown */
    char table[48];            /* name and revision of the table of figures: "cpu-seed-1/amd-zen4" */
    char source[128];          /* publication or measurement from which the figures come */
    /* Caches and memory, from which an order of work with better use of caches follows. Speeds and prices are
     * measured if `joule calibrate` has stored a calibration of this CPU, otherwise typical of its family. */
    double l2_bytes; /* second-level cache of one core; 0: none */
    double l3_bytes; /* last-level cache; in a virtual machine the part that it can expect; 0: none */
    double l2_bytes_per_s, l3_bytes_per_s, memory_bytes_per_s;         /* that one core reaches */
    joule_quantity l2_byte_joules, l3_byte_joules, memory_byte_joules; /* to move one byte to a core */
    joule_quantity cycle_watts; /* a core's cycles at full speed, without the operations that it executes */
    joule_quantity fma256_joules, fma512_joules;      /* a fused multiply-add of 256 and of 512 bits */
    int32_t has_measured_speeds, has_measured_prices; /* 1: measured; 0: typical */
} joule_cpu_model;

/* Writes the model of this machine's CPUs to *out_model. An unknown CPU gets wide intervals. Reads files
 * below /proc and /sys, and a stored calibration, which takes about 1 ms. JOULE_INVALID: out_model is NULL or
 * struct_size is too small. JOULE_NO_MEMORY: out of memory. Any thread. */
JOULE_API joule_status joule_cpu_model_query(joule_cpu_model *out_model);

/* Writes the modelled energy in joules of a program to *out_joules, without idle power. The program used
 * `cpu_seconds` of CPU time within `wall_seconds` on this machine. `joule run` reports this figure for the
 * command if no sensor measures the processor. The first call reads files below /proc and /sys. If the status
 * is not JOULE_OK, the quantity is unknown. JOULE_INVALID: a time is negative or not finite, or out_joules is
 * NULL. JOULE_NO_MEMORY: out of memory. Any thread. */
JOULE_API joule_status joule_cpu_work_joules(double cpu_seconds, double wall_seconds,
                                             joule_quantity *out_joules);

#ifdef __cplusplus
}
#endif
#endif
