/* backends/estimated/machine.h - a model of a machine with eight figures, which estimates the time and energy
 * of a launch.
 *
 * Each figure has an error, a class and a source. The model is a roofline; ir/operation_cost.h counts the
 * work.
 * Note: a rate is the rate that optimised kernels reach, not the peak rate of a data sheet. The errors are
 * large.
 */
#ifndef FORGE_ESTIMATED_MACHINE_H
#define FORGE_ESTIMATED_MACHINE_H

#include "forge/hal/expected.h"
#include "forge/hal/rates.h"
#include "forge/ir/program.h"

enum figure {
    FIGURE_FLOP_RATE, /* FLOP/s in f32; in f64 the rate is half */
    FIGURE_BYTE_RATE, /* bytes/s from and to memory */
    /* units/s of reference kernels (reference_rates.h); infinity: these kernels need no additional time */
    FIGURE_PLAIN_RATE,
    FIGURE_LAUNCH_TIME, /* additional seconds per launch */
    FIGURE_IDLE_WATTS,  /* constant power, in W */
    FIGURE_BUSY_WATTS,  /* additional power while a launch runs, in W */
    FIGURE_FLOP_JOULES, /* additional joules per FLOP */
    FIGURE_BYTE_JOULES, /* additional joules per byte */
    FIGURES
};
_Static_assert(FIGURES + 1 == EXPECTED_CAUSES,
               "each figure is a cause of errors, and so is the roofline itself");
_Static_assert(FIGURES <= FORGE_MAX_DEVICE_FIGURES, "the figures fit into the public list");

struct machine {
    struct {
        double value, log_sd;
        joule_class cls;
        char source[128];
    } figures[FIGURES];
    /* Cores and caches, and the rates and prices of a core's bytes, which are not among the figures. The
     * other members are 0; machine_rates sets all. */
    struct device_rates cores;
};

/* Sets the figures of the CPU of this machine, for the number of threads and the instruction set in `cpu`.
 * Fails if libjoule has no model of the CPU. */
joule_status machine_of_cpu(const forge_device_facts *cpu, struct machine *out_machine,
                            joule_error *out_error);
/* Replaces the figures in the text, for example "flop_per_s=1e12,idle_watts=40"; other figures do not change.
 * If plain_per_s is not in the text, it becomes infinity; caches that are not in the text become absent, and
 * a core gets its part of bytes_per_s. Returns JOULE_INVALID if the text is wrong; the message names the
 * wrong item. */
joule_status machine_read(struct machine *machine, const char *text, joule_error *out_error);
/* The work of one launch. */
struct machine_work {
    struct program_cost cost;
    bool is_double;
    double plain_units; /* work of a reference kernel, in units (reference_rates.h); 0 for other kernels */
    unsigned cores;     /* the launch uses at most so many cores; 0: all */
};

/* Returns a figure in the form of forge_device_query. */
forge_device_figure machine_figure(const struct machine *machine, enum figure figure);

/* Returns the rates and prices of the machine, for schedules. */
struct device_rates machine_rates(const struct machine *machine);

/* Computes the time and energy of a launch: seconds = max(FLOP / rate, bytes / rate, units / rate) + launch
 * time; joules = watts * seconds + joules of FLOP and bytes. With fewer cores, rates and
 * busy watts are smaller in proportion; but a few cores may already reach the rate of bytes. */
void machine_expect(const struct machine *machine, const struct machine_work *work,
                    struct expected *out_expected);

#endif
