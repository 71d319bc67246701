/* infer/engine/request_energy.h - divides the meter's joules among the requests that each step computed.
 *
 * Each step gives every request a weight: the joules that a cost model expects for its rows. When the meter
 * has a new reading, the joules since the last reading are divided in proportion to the weights since then.
 * Joules without a request are idle. So requests + idle + unattributed = meter, to rounding.
 *
 * The weights have errors, because the energies of FLOP and bytes do. If the energy of a part of the cost is
 * higher than expected, requests that use more of this part than others used more joules. So each request
 * counts, for each part, the derivative of its joules with respect to the logarithm of the part's energy.
 * These derivatives and the standard deviation of the logarithm are the error of the division. The equal
 * division of the weights' bytes over the rows, and that of idle power in proportion to the weights, are
 * definitions. They have no error.
 * Note: a request may end before the meter has a reading of its last steps. It then gets the expected joules,
 * scaled by what earlier steps cost. The difference to the next reading is unattributed. */
#ifndef FORGE_INFER_REQUEST_ENERGY_H
#define FORGE_INFER_REQUEST_ENERGY_H

#include <forge/energy.h>
#include <forge/engine.h>
#include <stdbool.h>
#include "forge/infer/engine/step_cost.h"

enum spending_phase { PHASE_PREFILL, PHASE_DECODE, SPENDING_PHASES };

/* The energy that one request has used. Initialise with zeros. */
struct spending {
    double joules[SPENDING_PHASES];
    /* Derivatives of `joules` with respect to the logarithm of the energy of each part of the cost. */
    struct row_cost slopes[SPENDING_PHASES];
    double expected[SPENDING_PHASES]; /* the part of `joules` that is expected instead of read */
    /* Weights of the steps since the meter's last reading, in joules of the cost model. */
    struct row_cost weights[SPENDING_PHASES];
    double last_weight; /* weight of the last step */
    bool is_shared;     /* a step also computed rows of other requests */
};

/* Returns true if a request has weights since the meter's last reading. */
static inline bool spending_is_open(const struct spending *spending)
{
    return row_cost_sum(&spending->weights[PHASE_PREFILL]) + row_cost_sum(&spending->weights[PHASE_DECODE]) >
           0;
}

struct request_energy {
    forge_energy_source source;
    forge_instance *instance; /* the instance whose energy the meter counts, if `source` is the meter */
    joule_meter *meter;
    joule_quantity first, last; /* readings of the source: at the start, and the last one */
    bool is_known;              /* `first` and `last` are set */
    int64_t last_ns;            /* time of the last attempt to read */
    /* Sum of the weights of all requests since the last reading, including ended requests. */
    struct row_cost weights;
    struct row_cost mix; /* the part of each cost in the sum of weights of the last reading, 0 to 1 */
    /* Weights of the requests that ended since the last reading, and the joules that they were given. */
    double ended_weights, ended_joules;
    double request_joules, idle_joules, unattributed_joules;
    double scale; /* joules of the meter per joule of the cost model: mean of the last readings; 1 at first */
    /* Mean square of the logarithm of a reading's joules per weight divided by the scale before. */
    double scale_variance;
    bool has_scale;
};

/* Starts the measurement. source: NULL means the meter, which measures for `instance`. If the meter is not
 * available, all joules are unknown. */
void request_energy_open(struct request_energy *energy, const forge_energy_source *source, joule_meter *meter,
                         forge_instance *instance);
/* Returns true if the source has returned at least one reading. */
bool request_energy_is_known(const struct request_energy *energy);
int64_t request_energy_now_ns(const struct request_energy *energy);

/* Adds a weight to a request. */
void request_energy_add(struct request_energy *energy, struct spending *spending, enum spending_phase phase,
                        const struct row_cost *weight, bool is_shared);
/* Reads the source. Returns the new joules divided by the sum of all weights; request_energy_take multiplies
 * this by the weights of a request. NaN: there is no new reading, or the sum of weights is 0 and the joules
 * are idle. */
double request_energy_read(struct request_energy *energy);
/* Attributes a part of a reading to a request: its weights times joules_per_weight. */
void request_energy_take(struct request_energy *energy, struct spending *spending, double joules_per_weight);
/* Ends a request: its remaining weights become expected joules. */
void request_energy_end(struct request_energy *energy, struct spending *spending);

/* Returns the joules that a weight is expected to cost. NaN: the energy is unknown. */
double request_energy_expect(const struct request_energy *energy, double weight);
/* Returns a request's joules so far, including the expected joules of weights without a reading; NaN:
 * unknown. */
double request_energy_joules(const struct request_energy *energy, const struct spending *spending);
/* Returns a request's joules in a phase, or in both (SPENDING_PHASES). The interval contains the errors of
 * the source, of the division and of expected joules. Includes the expected joules of weights without a
 * reading. */
joule_quantity request_energy_spent(const struct request_energy *energy, const struct spending *spending,
                                    int phase);
/* Sets the members of *out_facts that are sums of energy. */
void request_energy_query(const struct request_energy *energy, forge_engine_facts *out_facts);

#endif
