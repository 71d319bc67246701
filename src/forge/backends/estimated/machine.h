/* backends/estimated/machine.h - a machine in eight figures, and what work takes on it.
 *
 * Owns the figures, each with its error, class and source, and the roofline. It counts no work: ir/cost.h does.
 * Newcomers: these are figures of what good kernels reach, not of data sheets, and the errors are wide.
 */
#ifndef FORGE_ESTIMATED_MACHINE_H
#define FORGE_ESTIMATED_MACHINE_H

#include "forge/hal/expected.h"
#include "forge/ir/program.h"

enum figure {
    FIGURE_FLOP_RATE,   /* FLOP/s in f32; half of it in f64 */
    FIGURE_BYTE_RATE,   /* bytes/s from and to memory */
    FIGURE_PLAIN_RATE,  /* units/s of the reference's kernels (reference_rates.h); infinite: no time */
    FIGURE_LAUNCH_TIME, /* seconds that each launch takes besides */
    FIGURE_IDLE_WATTS,  /* always */
    FIGURE_BUSY_WATTS,  /* while a launch runs, besides */
    FIGURE_FLOP_JOULES, /* for each FLOP, besides */
    FIGURE_BYTE_JOULES, /* for each byte, besides */
    FIGURES
};
_Static_assert(FIGURES + 1 == EXPECTED_CAUSES, "each figure may err, and so may the roofline itself");
_Static_assert(FIGURES <= FORGE_MAX_DEVICE_FIGURES, "the public list has room");

struct machine {
    struct {
        double value, log_sd;
        joule_class cls;
        char source[128];
    } figures[FIGURES];
};

/* The CPU of this machine, with as many threads and the best of these instruction sets that is in use. */
joule_status machine_of_cpu(const forge_device_facts *cpu, struct machine *out_machine,
                            joule_error *out_error);
/* "flop_per_s=1e12,idle_watts=40": another machine, which needs no kernels of the reference, by these figures and for the rest
 * those that are there. INVALID names what cannot be read. */
joule_status machine_read(struct machine *machine, const char *text, joule_error *out_error);
/* What a launch is, beside its cost. */
struct machine_work {
    struct program_cost cost;
    bool is_double;
    double plain_units; /* units of the reference's kernel (reference_rates.h); 0: another kernel */
};

/* What a device's page shows of a figure. */
forge_device_figure machine_figure(const struct machine *machine, enum figure figure);

/* seconds = max(FLOP / rate, bytes / rate) + launch time; joules = watts x seconds + joules of FLOP and bytes. */
void machine_expect(const struct machine *machine, const struct machine_work *work,
                    struct expected *out_expected);

#endif
