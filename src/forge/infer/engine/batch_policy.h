/* infer/engine/batch_policy.h - limits the size of steps so that they cost little energy or end soon.
 *
 * The joules per token of each batch size are measured while the engine runs. With the objective energy, the
 * policy allows the cheapest measured size, or a neighbouring size that was not measured yet. With the
 * objective latency, it limits rows so that a step takes at most twice as long as a step of one row. */
#ifndef FORGE_INFER_BATCH_POLICY_H
#define FORGE_INFER_BATCH_POLICY_H

#include <forge/engine.h>
#include "forge/infer/engine/speculation.h"

enum { POLICY_SIZES = 13 }; /* batch sizes 1, 2, 4 ... 4096 */

struct batch_policy {
    forge_objective objective;
    /* [i]: batches of more than 2^(i - 1) and up to 2^i sequences; 0: never measured. */
    double joules_per_token[POLICY_SIZES];
    /* Since the meter's last reading: sequences of the last step, and number of tokens of all steps. */
    size_t size, tokens;
    bool is_mixed; /* the steps had different sizes, or many rows of prompts */
};

/* Records a step with `sequences` sequences and `rows` rows. */
void batch_policy_add_step(struct batch_policy *policy, size_t sequences, size_t rows);
/* Records the joules since the meter's last reading. */
void batch_policy_add_joules(struct batch_policy *policy, double joules);
/* Returns the number of sequences that may run, at most `max_sequences`. */
size_t batch_policy_sequences(const struct batch_policy *policy, const struct step_times *times,
                              size_t max_sequences);
/* Returns the number of rows that a step may have, at most max_rows. */
size_t batch_policy_rows(const struct batch_policy *policy, const struct step_times *times, size_t max_rows);

#endif
