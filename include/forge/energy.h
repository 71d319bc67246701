/* forge/energy.h - the energy of every operation of an instance.
 *
 * Attributes joules to an instance's launches: the energy of each operation, layer, phase and step, each with
 * its error. Time between launches is an item of its own. The total is the sum of all items plus the energy
 * that could not be attributed.
 *
 * If sensors measure the domain, the joules are those of the measured part of the machine, idle power
 * included (FORGE_ENERGY_OF_MACHINE). If a model replaces sensors (classes modelled and assumed, JOULE_TOTAL
 * and JOULE_CPU), the model is applied to this process's CPU time, without idle power. Work of other
 * processes is then not attributed to operations (FORGE_ENERGY_OF_PROCESS). A device that only estimates uses
 * no meter: all joules are its expected ones, over its simulated time (FORGE_ENERGY_EXPECTED).
 *
 * Sensors are too slow for single launches. A regression over many windows of the meter finds the mean power
 * of each item, starting from the figures of a cost model; see docs/energy.md. The class is derived if a
 * figure follows from the meter's windows. It is modelled if it follows from the cost model, or if the meter
 * itself is a model.
 *
 * Threads: all functions are called by the thread that runs the instance.
 */
#ifndef FORGE_ENERGY_H
#define FORGE_ENERGY_H

#include <forge/program.h>
#include <joule/meter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts counting energy from 0, even if counting was started before. `meter` (NULL: the default meter) must
 * outlive the instance or live until forge_energy_stop. `domain` is a domain or sum of the meter, such as
 * JOULE_TOTAL. JOULE_INVALID: no such domain. JOULE_FAILED: the default meter cannot be opened.
 * Note: from then on the timestamps of launches are kept until forge_energy_collect joins them. Keeping them
 * adds no clock reads. */
FORGE_API joule_status forge_energy_start(forge_instance *instance, joule_meter *meter, int32_t domain,
                                          joule_error *out_error);
/* Stops counting, and frees the counted data. */
FORGE_API void forge_energy_stop(forge_instance *instance);

/* Joins the launches with the meter's windows, up to the last updates of the sensors. All queries answer
 * from the state of the last collection, so that their answers are consistent. Call it before queries, and
 * about once a second in training: it takes about 20 us for each sensor update. Timestamps use at most
 * 16 MiB (10 s of launches of 5 us). Older launches are dropped, and the energy of that time is not counted.
 * JOULE_ABSENT: not started. */
FORGE_API joule_status forge_energy_collect(forge_instance *instance);
/* Collects up to the present time: waits at most `wait_s` seconds until each sensor has an update after it.
 * Joules that are not confirmed by then count as unattributed in the total. JOULE_ABSENT: not started. */
FORGE_API joule_status forge_energy_finish(forge_instance *instance, double wait_s);
/* Returns the joules from the start to the present time, as far as they are known. Collects, but does not
 * solve the regression. JOULE_ABSENT: not started. JOULE_PENDING: not known yet. */
FORGE_API joule_status forge_energy_now(forge_instance *instance, joule_quantity *out_joules);

/* One item: all launches with the same operation, phase and scope. If a program has more than 128 items,
 * scopes are shortened by their last parts until there are at most 128. */
typedef struct forge_energy_facts {
    uint32_t struct_size; /* sizeof(forge_energy_facts) */
    forge_phase phase;
    const char *op;    /* "matmul"; empty for the last item, the time between launches */
    const char *scope; /* "block0/fc1" */
    uint64_t launches; /* number in one run */
    double flop;       /* FLOP in one run; the mean if sizes changed */
    double seconds;    /* time in which the item ran, within the meter's windows */
    joule_quantity joules;
    /* Items that neither windows nor cost model can separate form a group; its sum has a much smaller
     * error. */
    size_t group; /* index of the first item of the group; for most items, the item itself */
    joule_quantity group_joules;
} forge_energy_facts;

/* Returns the number of items; 0: not started. */
FORGE_API size_t forge_energy_count(const forge_instance *instance);
/* Describes item `i`. Its strings live until counting stops or restarts. The first query after a collection
 * solves the regression, which takes up to 0.3 s. JOULE_INVALID: no such item. JOULE_ABSENT: not started.
 * JOULE_PENDING: no windows yet; joules are unknown. */
FORGE_API joule_status forge_energy_get(forge_instance *instance, size_t i, forge_energy_facts *out_facts);

#define FORGE_ALL_PHASES (-1)
/* Returns the joules of all items in a scope and its inner scopes (empty: all), without the time between
 * launches. phase: a forge_phase or FORGE_ALL_PHASES. JOULE_ABSENT: no such items, or not started.
 * JOULE_PENDING: no windows yet. */
FORGE_API joule_status forge_scope_energy(forge_instance *instance, const char *scope, int phase,
                                          joule_quantity *out_joules);
/* Returns the mean joules of one run. With a phase, the items of that phase count. With FORGE_ALL_PHASES,
 * all items count, including the time between launches. Errors: those of forge_scope_energy. */
FORGE_API joule_status forge_step_energy(forge_instance *instance, int phase, joule_quantity *out_joules);
/* Returns the joules of launch `i` in all runs. If several launches share an item, its energy is divided by
 * time, and the class is modelled. Errors: those of forge_energy_get. */
FORGE_API joule_status forge_launch_energy(forge_instance *instance, size_t i, joule_quantity *out_joules);

/* The work whose energy is counted. */
typedef enum forge_energy_basis {
    FORGE_ENERGY_UNKNOWN = 0,    /* the meter has no reading yet */
    FORGE_ENERGY_OF_MACHINE = 1, /* all work of the measured part of the machine */
    FORGE_ENERGY_OF_PROCESS = 2, /* modelled from this process's CPU time */
    FORGE_ENERGY_EXPECTED = 3,   /* the device only estimates */
} forge_energy_basis;

/* The sum of all items. */
typedef struct forge_energy_sum {
    uint32_t struct_size; /* sizeof(forge_energy_sum) */
    uint32_t reserved;
    uint64_t windows;                   /* number of windows of the meter that were joined */
    double seconds;                     /* seconds from the start to the last sensor update */
    double covered_seconds;             /* part of `seconds` with known energy and known launches */
    joule_quantity joules;              /* sum of the items */
    joule_quantity unattributed_joules; /* joules of time without known launches, or after the last update */
    joule_quantity all_joules;          /* joules + unattributed_joules; NaN: unknown */
    forge_energy_basis basis;
    uint32_t reserved2;
} forge_energy_sum;
/* Returns the sums. JOULE_PENDING: `joules` are unknown; the other members hold what is known. JOULE_ABSENT:
 * not started. */
FORGE_API joule_status forge_energy_total(forge_instance *instance, forge_energy_sum *out_sum);

/* Returns the expected seconds and joules of the next run, with the present sizes, from the device's figures.
 * JOULE_UNSUPPORTED: the device runs programs and does not estimate. Both quantities are then unknown.
 * JOULE_INVALID: impossible sizes. */
FORGE_API joule_status forge_expected_run(forge_instance *instance, joule_quantity *out_seconds,
                                          joule_quantity *out_joules);

/* Returns amount / joules with the error of the joules: samples, tokens or FLOP per joule (TFLOPS/W = FLOP
 * per joule * 1e-12). */
FORGE_API joule_quantity forge_per_joule(double amount, joule_quantity joules);

#ifdef __cplusplus
}
#endif
#endif
