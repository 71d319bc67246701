/* joule/model.h - what CPUs like this one are expected to use.
 *
 * Owns the view on libjoule's cost model for those who predict energy before anything ran. No sensor is read.
 * Newcomers: these are figures of typical machines of the family, not of yours; the intervals say how far yours may be off.
 */
#ifndef JOULE_MODEL_H
#define JOULE_MODEL_H

#include <joule/quantity.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct joule_cpu_model {
    uint32_t struct_size; /* set by the caller to sizeof(joule_cpu_model) before the call */
    uint32_t cores;       /* physical ones of all packages; in a virtual machine, virtual CPUs; 0: unknown */
    joule_quantity idle_watts; /* of all packages together while nothing runs */
    joule_quantity core_watts; /* what one busy core adds, at reference_hz */
    double reference_hz;       /* NaN: unknown */
    char table[48];            /* names the figures and their revision: "cpu-seed-1/amd-zen4" */
    char source[128];          /* where they come from */
} joule_cpu_model;

/* Describes this machine's CPUs; always answers, with wide intervals for a CPU that is not known. Reads files below /proc and
 * /sys: about a millisecond. INVALID: out_model is NULL or struct_size too small. NO_MEMORY. Any thread. */
JOULE_API joule_status joule_cpu_model_look(joule_cpu_model *out_model);

/* Modelled joules, without idle power, of a program that used `cpu_seconds` of CPU time in `wall_seconds` on
 * this machine: the figure that `joule run` reports for the command alone where no sensor measures the
 * processor. The first call reads files below /proc and /sys; later ones compute. INVALID: a time is negative
 * or not finite, or out_joules is NULL. NO_MEMORY. On any other status than JOULE_OK the quantity is unknown.
 * Any thread. */
JOULE_API joule_status joule_cpu_work_joules(double cpu_seconds, double wall_seconds,
                                             joule_quantity *out_joules);

#ifdef __cplusplus
}
#endif
#endif
