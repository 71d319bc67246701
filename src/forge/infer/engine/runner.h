/* infer/engine/runner.h - the program of one model with its cache: computes the logits of the rows of a step.
 *
 * Threads: one thread at a time.
 */
#ifndef FORGE_INFER_RUNNER_H
#define FORGE_INFER_RUNNER_H

#include <forge/program.h>
#include "forge/infer/model/model.h"
#include "forge/infer/engine/model_graph.h"
#include "forge/infer/engine/scheduler.h"

/* The arrays of a step's inputs, with room for the largest step. */
struct step_inputs {
    int32_t *tokens, *positions, *sequences, *places; /* [max_rows] */
    int32_t *tables;                                  /* [max_sequences, sequence_pages] */
    int32_t *output_rows;                             /* [max_outputs] */
};

struct runner {
    const forge_model *model;
    struct model_graph_sizes sizes;
    forge_program *program;
    forge_states *states;
    forge_instance *instance;
    struct page_pool *pool;
    struct step_inputs inputs;
    size_t rows, outputs, spans; /* numbers of rows, rows with logits, and spans in the present step */
    size_t set_spans;            /* the spans that the program's input "tables" has */
    bool has_new_pages;          /* a page in `inputs.tables` is not in the program's input yet */
    int64_t run_ns;              /* time in the program so far */
    size_t repacked_bytes;       /* size of the repacked weights; 0: the model's memory is used */
};

/* Loads a model, which must outlive the runner. Weights are repacked for the device, if there is enough
 * memory and keeps_weights_mapped is false; otherwise the memory of the model is used. The caller frees the
 * runner with runner_close, also after an error. */
joule_status runner_open(struct runner *runner, const forge_model *model, forge_device *device,
                         const struct model_graph_sizes *sizes, bool keeps_weights_mapped,
                         joule_error *out_error);
void runner_close(struct runner *runner);

/* Begins a step, which has no rows yet. */
void runner_begin(struct runner *runner);
/* Adds rows [first, first + count) of the sequence's tokens and drafts, whose keys and values are stored in
 * the pages of `table`. The last `outputs` of the rows get logits. */
void runner_add(struct runner *runner, const struct sequence *sequence, const struct page_table *table,
                size_t first, size_t count, size_t outputs);
/* Computes the step. *out_logits: [outputs, vocabulary], valid until the next step. */
joule_status runner_run(struct runner *runner, const float **out_logits, joule_error *out_error);

/* Returns the number of tokens that have logits. */
static inline size_t runner_vocabulary(const struct runner *runner)
{
    return (size_t)runner->model->file->config.vocabulary;
}

#endif
