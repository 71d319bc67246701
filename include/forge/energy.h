/* forge/energy.h - the joules of every operation.
 *
 * Attributes joules to an instance's launches: the energy of each operation, layer, phase and step, each with
 * its error. Time between launches is an item of its own. The total is the sum over the items plus what could
 * not be attributed.
 *
 * Where sensors measure the domain, the joules are those of the metered part of the machine, idle power
 * included (FORGE_ENERGY_OF_MACHINE). Where a model replaces sensors (classes modelled and assumed,
 * JOULE_TOTAL and JOULE_CPU), the model is applied to this process's CPU time, without idle power. Work of
 * other processes is then not attributed to operations (FORGE_ENERGY_OF_PROCESS).
 *
 * Sensors are too slow for single launches. Over many windows of the meter a regression finds the mean power
 * of each item, beginning with what a cost model expects; see docs/energy.md. Class: derived where the figure
 * follows from the meter's windows; modelled where it follows from the cost model, or where the meter itself
 * is a model. A device that only estimates uses no meter: all joules are its expected ones, over its own
 * simulated time. All functions: the thread that runs the instance.
 */
#ifndef FORGE_ENERGY_H
#define FORGE_ENERGY_H

#include <forge/program.h>
#include <joule/meter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begins to count. `meter` (NULL: the default one) must outlive the instance or forge_energy_stop; `domain` is one of its
 * domains or sums, such as JOULE_TOTAL. From now on each launch's time is kept until it is joined: at no cost beyond the
 * clock that is read anyway. Begins anew where it has begun. INVALID: no such domain. FAILED: no meter. */
FORGE_API joule_status forge_energy_start(forge_instance *instance, joule_meter *meter, int32_t domain,
                                          joule_error *out_error);
/* What was counted is forgotten. */
FORGE_API void forge_energy_stop(forge_instance *instance);

/* Joins what ran up to now, as far as the sensors have ticked. Questions are about what was collected, so that answers to
 * several of them fit together. Call it before them, and now and then in training, about each second: it costs some 20 us
 * for each tick of the sensor. Launches are kept for 16 MiB of time stamps (10 s of launches of 5 us); older ones are
 * dropped, and what the meter saw meanwhile is left out. ABSENT: not started. */
FORGE_API joule_status forge_energy_collect(forge_instance *instance);
/* As forge_energy_collect, up to this moment: waits at most `wait_s` seconds until the sensors have ticked
 * past it. Joules that they have not confirmed by then count as unattributed in the total. ABSENT: not
 * started. */
FORGE_API joule_status forge_energy_finish(forge_instance *instance, double wait_s);
/* Joules from the start to this moment, as far as they are known. Collects, but does not solve the
 * regression. ABSENT: not started. PENDING: nothing is known yet. */
FORGE_API joule_status forge_energy_now(forge_instance *instance, joule_quantity *out_joules);

/* What the instance's launches are told apart by: operation, phase and scope. Where a program has more than
 * 128 of these, scopes lose their last parts until there are fewer. */
typedef struct forge_energy_facts {
    uint32_t struct_size; /* sizeof(forge_energy_facts) */
    forge_phase phase;
    const char *op;    /* "matmul"; empty for what is between launches, the last item */
    const char *scope; /* "block0/fc1" */
    uint64_t launches; /* in one run */
    double flop;       /* of one run; where sizes changed, on average */
    double seconds;    /* of all that the meter saw, those in which it ran */
    joule_quantity joules;
    /* Items that neither windows nor cost model tell apart form a group: both are far better known together. */
    size_t group; /* its first item; of most items: itself */
    joule_quantity group_joules;
} forge_energy_facts;

/* How many items there are; 0: not started. */
FORGE_API size_t forge_energy_count(const forge_instance *instance);
/* INVALID: no such item. ABSENT: not started. PENDING: the meter has seen nothing yet, joules are unknown. The strings live
 * as long as counting goes on. The first question after a collection solves the regression: up to 0.3 s. */
FORGE_API joule_status forge_energy_get(forge_instance *instance, size_t i, forge_energy_facts *out_facts);

#define FORGE_ALL_PHASES (-1)
/* Joules of all items in a scope and the scopes in it (empty: all), in one forge_phase or in FORGE_ALL_PHASES, without what is between
 * launches. ABSENT: there are none, or not started. PENDING as above. */
FORGE_API joule_status forge_scope_energy(forge_instance *instance, const char *scope, int phase,
                                          joule_quantity *out_joules);
/* Mean joules of one run: of the items of one phase, or, with FORGE_ALL_PHASES, of everything from run to run. Otherwise as above. */
FORGE_API joule_status forge_step_energy(forge_instance *instance, int phase, joule_quantity *out_joules);
/* Joules of launch i, in all runs: its item's, by time where several launches have one item, then modelled. */
FORGE_API joule_status forge_launch_energy(forge_instance *instance, size_t i, joule_quantity *out_joules);

typedef enum forge_energy_basis {
    FORGE_ENERGY_UNKNOWN = 0,    /* the meter has no reading yet */
    FORGE_ENERGY_OF_MACHINE = 1, /* all that the metered part of the machine used */
    FORGE_ENERGY_OF_PROCESS = 2, /* modelled from this process's CPU time */
    FORGE_ENERGY_EXPECTED = 3,   /* the device only estimates */
} forge_energy_basis;

/* What all items share. */
typedef struct forge_energy_sum {
    uint32_t struct_size; /* sizeof(forge_energy_sum) */
    uint32_t reserved;
    uint64_t windows;                   /* windows of the meter that were joined */
    double seconds;                     /* from the start to the last tick */
    double seen_seconds;                /* part of it with known energy and known launches */
    joule_quantity joules;              /* of the items */
    joule_quantity unattributed_joules; /* of time without known launches, or beyond the sensors' last tick */
    joule_quantity all_joules;          /* sum of both; NaN: nothing is known */
    forge_energy_basis basis;
    uint32_t reserved2;
} forge_energy_sum;
/* Statuses as above. PENDING: `joules` are unknown; the members after them say what is known. */
FORGE_API joule_status forge_energy_total(forge_instance *instance, forge_energy_sum *out_sum);

/* What the next run is expected to take, with the sizes that are set: seconds and joules from the device's figures.
 * UNSUPPORTED: the device runs programs and estimates nothing; both are unknown. INVALID: these sizes cannot be. */
FORGE_API joule_status forge_expected_run(forge_instance *instance, joule_quantity *out_seconds,
                                          joule_quantity *out_joules);

/* What a joule brings: samples, tokens or FLOP (1e-12 of those a joule are TFLOPS/W), with the error of the joules. */
FORGE_API joule_quantity forge_per_joule(double amount, joule_quantity joules);

#ifdef __cplusplus
}
#endif
#endif
