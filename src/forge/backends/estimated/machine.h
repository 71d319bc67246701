/* backends/estimated/machine.h - a model of a machine in eight figures, which estimates the time and energy
 * of a launch.
 *
 * Each figure has an error, a class and a source. The model is a roofline; ir/operation_cost.h counts the
 * work.
 * Note: the figures are what good kernels reach, not the values of data sheets, and their errors are large.
 */
#ifndef FORGE_ESTIMATED_MACHINE_H
#define FORGE_ESTIMATED_MACHINE_H

#include "forge/hal/expected.h"
#include "forge/ir/program.h"

enum figure {
    FIGURE_FLOP_RATE,   /* FLOP/s in f32; half of it in f64 */
    FIGURE_BYTE_RATE,   /* bytes/s from and to memory */
    FIGURE_PLAIN_RATE,  /* units/s of reference kernels (reference_rates.h); infinite: they take no time */
    FIGURE_LAUNCH_TIME, /* additional seconds per launch */
    FIGURE_IDLE_WATTS,  /* constant power */
    FIGURE_BUSY_WATTS,  /* additional power while a launch runs */
    FIGURE_FLOP_JOULES, /* additional energy per FLOP */
    FIGURE_BYTE_JOULES, /* additional energy per byte */
    FIGURES
};
_Static_assert(FIGURES + 1 == EXPECTED_CAUSES,
               "one cause of error per figure, and one for the roofline itself");
_Static_assert(FIGURES <= FORGE_MAX_DEVICE_FIGURES, "the public list has room");

struct machine {
    struct {
        double value, log_sd;
        joule_class cls;
        char source[128];
    } figures[FIGURES];
};

/* Sets the figures of the CPU of this machine, for the number of threads and the instruction set in `cpu`. */
joule_status machine_of_cpu(const forge_device_facts *cpu, struct machine *out_machine,
                            joule_error *out_error);
/* Replaces figures by those in the text, for example "flop_per_s=1e12,idle_watts=40"; others keep their
 * values. Reference kernels take no time on this machine, unless plain_per_s is given. JOULE_INVALID: the
 * message names the faulty item. */
joule_status machine_read(struct machine *machine, const char *text, joule_error *out_error);
/* The work of one launch. */
struct machine_work {
    struct program_cost cost;
    bool is_double;
    double plain_units; /* units of a reference kernel (reference_rates.h); 0: another kernel */
};

/* Returns a figure as shown by queries of the device. */
forge_device_figure machine_figure(const struct machine *machine, enum figure figure);

/* Computes the time and energy of a launch: seconds = max(FLOP / rate, bytes / rate) + launch time;
 * joules = watts x seconds + joules of FLOP and bytes. */
void machine_expect(const struct machine *machine, const struct machine_work *work,
                    struct expected *out_expected);

#endif
