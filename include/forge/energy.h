/* forge/energy.h - the energy of every operation of an instance.
 *
 * Attributes joules to an instance's launches, and reports the energy of each operation, layer, phase and
 * step with its error. The time between launches is a separate item. The total is the sum of all items plus
 * the energy that could not be attributed.
 *
 * Which energy is counted depends on the sensors and the device (forge_energy_basis):
 * - FORGE_ENERGY_OF_MACHINE: sensors measure the domain. The joules are those of the measured part of the
 *   machine, including idle power.
 * - FORGE_ENERGY_OF_PROCESS: a model replaces the sensors of JOULE_TOTAL or JOULE_CPU (classes modelled and
 *   assumed). The model is applied to this process's CPU time, without idle power, so that work of other
 *   processes is not attributed to operations.
 * - FORGE_ENERGY_EXPECTED: the device only estimates and uses no meter. The joules are those that the device
 *   expects over its simulated time.
 *
 * Sensors are too slow for single launches. So a regression over many windows of the meter finds the mean
 * power of each item. The regression starts from the figures of a cost model; see docs/energy.md. A figure
 * has the class derived if it follows from the meter's windows. It has the class modelled if it follows from
 * the cost model, or if the meter itself is a model.
 *
 * Threads: call all these functions from the thread that runs the instance.
 */
#ifndef FORGE_ENERGY_H
#define FORGE_ENERGY_H

#include <forge/program.h>
#include <joule/meter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts counting energy from 0, even if counting was started before. `meter` (NULL: the default meter) must
 * live until forge_energy_stop or until the instance is freed. `domain`: a domain or sum of the meter, such
 * as JOULE_TOTAL. JOULE_INVALID: no such domain. JOULE_FAILED: the default meter cannot be opened.
 * Note: after the start, the instance stores the timestamps of launches until forge_energy_collect uses them.
 * This needs no additional clock reads. */
FORGE_API joule_status forge_energy_start(forge_instance *instance, joule_meter *meter, int32_t domain,
                                          joule_error *out_error);
/* Stops counting, and frees all data of the counting. */
FORGE_API void forge_energy_stop(forge_instance *instance);

/* Joins the launches with the meter's windows, up to the last updates of the sensors. All queries use the
 * state of the last collection, so that their results are consistent. Call this function before queries, and
 * about once a second in training. It takes about 20 us for each sensor update. Timestamps use at most 16 MiB
 * (10 s of launches of 5 us). If that is not enough, the oldest launches are dropped, and the energy of their
 * time is not counted. JOULE_ABSENT: not started. */
FORGE_API joule_status forge_energy_collect(forge_instance *instance);
/* Collects up to the time of this call. Waits at most `wait_s` seconds until each sensor has an update after
 * that time. Joules that no sensor has confirmed by then count as unattributed in the total. JOULE_ABSENT:
 * not started. */
FORGE_API joule_status forge_energy_finish(forge_instance *instance, double wait_s);
/* Returns the joules from the start to the last sensor updates. Collects, but does not solve the regression.
 * JOULE_ABSENT: not started. JOULE_PENDING: not known yet. */
FORGE_API joule_status forge_energy_now(forge_instance *instance, joule_quantity *out_joules);

/* One item: all launches with the same operation, phase and scope. If a program has more than 128 items,
 * scopes are shortened by their last parts until there are at most 128. */
typedef struct forge_energy_facts {
    uint32_t struct_size; /* sizeof(forge_energy_facts) */
    forge_phase phase;
    const char *op;    /* "matmul"; empty for the last item, the time between launches */
    const char *scope; /* "block0/fc1" */
    uint64_t launches; /* number of launches in one run */
    double flop;       /* FLOP in one run; the mean of the runs if sizes changed */
    double seconds;    /* time in which the item ran, within the meter's windows */
    joule_quantity joules;
    /* Items that neither the windows nor the cost model can separate form a group. The sum of a group has a
     * much smaller error than the items. */
    size_t group; /* index of the first item of the group; for most items, the item itself */
    joule_quantity group_joules;
} forge_energy_facts;

/* Returns the number of items; 0 if counting was not started. */
FORGE_API size_t forge_energy_count(const forge_instance *instance);
/* Describes item `i`. Its strings live until counting stops or restarts. The first query after a collection
 * solves the regression, which takes up to 0.3 s. JOULE_INVALID: no such item. JOULE_ABSENT: not started.
 * JOULE_PENDING: no windows yet; joules are unknown. */
FORGE_API joule_status forge_energy_get(forge_instance *instance, size_t i, forge_energy_facts *out_facts);

#define FORGE_ALL_PHASES (-1)
/* Returns the joules of all items in a scope and its inner scopes, without the time between launches. scope:
 * "" means all scopes. phase: a forge_phase or FORGE_ALL_PHASES. JOULE_ABSENT: no such items, or not started.
 * JOULE_PENDING: no windows yet. */
FORGE_API joule_status forge_scope_energy(forge_instance *instance, const char *scope, int phase,
                                          joule_quantity *out_joules);
/* Returns the mean joules of one run, for the items of a forge_phase. With FORGE_ALL_PHASES, for all items,
 * including the time between launches. Errors: those of forge_scope_energy. */
FORGE_API joule_status forge_step_energy(forge_instance *instance, int phase, joule_quantity *out_joules);
/* Returns the joules of launch `i` in all runs. If several launches share an item, the item's energy is
 * divided in proportion to their times, and the class is modelled. Errors: those of forge_energy_get. */
FORGE_API joule_status forge_launch_energy(forge_instance *instance, size_t i, joule_quantity *out_joules);

/* Which work the counted energy belongs to. */
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
    double covered_seconds;             /* part of `seconds` in which both energy and launches are known */
    joule_quantity joules;              /* sum of the items */
    joule_quantity unattributed_joules; /* joules while launches are unknown, or after the last update */
    joule_quantity all_joules;          /* joules + unattributed_joules; NaN: unknown */
    forge_energy_basis basis;
    uint32_t reserved2;
} forge_energy_sum;
/* Returns the sums over all items. JOULE_PENDING: `joules` is unknown; the other members contain what is
 * known. JOULE_ABSENT: not started. */
FORGE_API joule_status forge_energy_total(forge_instance *instance, forge_energy_sum *out_sum);

/* Returns the expected seconds and joules of the next run, with the present sizes, from the device's figures.
 * JOULE_UNSUPPORTED: the device runs programs and does not estimate; both quantities are then unknown.
 * JOULE_INVALID: the program cannot run with these sizes. */
FORGE_API joule_status forge_expected_run(forge_instance *instance, joule_quantity *out_seconds,
                                          joule_quantity *out_joules);

/* Returns amount / joules, with the relative error of `joules`. amount: a number of samples, tokens or FLOP
 * (TFLOPS/W = FLOP per joule * 1e-12). */
FORGE_API joule_quantity forge_per_joule(double amount, joule_quantity joules);

#ifdef __cplusplus
}
#endif
#endif
