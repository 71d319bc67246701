/* tools/forge/task.h - the tasks of `forge train` (image classes, next token of a text) and the table of
 * models.
 *
 * Note: every task ends in logits [n, classes] and labels [n]. Loss, optimiser, checkpoints and reports are
 * the same for all.
 */
#ifndef FORGE_TASK_H
#define FORGE_TASK_H

#include <stdio.h>
#include "trainee.h"

struct prediction {
    forge_value logits, labels; /* [n, classes] and integers [n] */
};

/* Values of options that are not given. */
struct task_defaults {
    unsigned batch_size, epochs, warm_up_steps;
    bool is_adamw;
    forge_schedule_kind schedule;
    double max_norm, adamw_rate, adamw_decay;
};

struct task {
    const char *unit;      /* what a training counts, such as "samples" */
    const char *score;     /* key of the score in the JSON report, such as "accuracy" */
    const char *inputs[2]; /* names of the program's inputs, one for each column of the datasets */
    size_t input_count;
    bool is_text;
    uint32_t test_batch; /* examples per batch of the test */
    double adamw_beta2;
    uint32_t ranks_without_decay; /* bit r: parameters of rank r have no weight decay */
    struct task_defaults defaults;
    /* Opens the datasets and sets stride, units and classes of *trainee. */
    joule_status (*open)(struct trainee *trainee, joule_error *error);
    /* Adds the inputs for `examples` examples and the model. */
    struct prediction (*predict)(const struct trainee *trainee, forge_builder *b, int64_t examples,
                                 bool is_training);
    /* Returns a sum over the units of a batch (f64, rank 0). The score is the sum over all batches of the
     * test, divided by their units. */
    forge_value (*measure)(forge_builder *b, struct prediction prediction);
    void (*print_score)(double score, uint64_t units, FILE *to);
};

struct model {
    const char *name;
    const struct task *task;
    /* Adds the model. x: the inputs, as `predict` of the task prepares them. Returns the logits, [n,
     * classes]. */
    forge_value (*build)(const struct trainee_options *options, int64_t classes, forge_builder *b,
                         forge_value x, bool is_training);
    unsigned width;  /* default of --width; 0: the model has no such option */
    bool has_blocks; /* the backward pass can recompute the blocks' activations */
};

extern const struct task task_images, task_text;
forge_value model_mlp(const struct trainee_options *options, int64_t classes, forge_builder *b, forge_value x,
                      bool is_training);
forge_value model_cnn(const struct trainee_options *options, int64_t classes, forge_builder *b, forge_value x,
                      bool is_training);
forge_value model_resnet18(const struct trainee_options *options, int64_t classes, forge_builder *b,
                           forge_value x, bool is_training);
forge_value model_gpt(const struct trainee_options *options, int64_t classes, forge_builder *b, forge_value x,
                      bool is_training);

/* Returns the model with this name, in static storage; NULL: there is none. */
const struct model *model_find(const char *name);
/* Returns the name of model i; NULL: there are fewer models. */
const char *model_name(size_t i);

#endif
