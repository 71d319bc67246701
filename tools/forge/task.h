/* tools/forge/task.h - what a network is to learn: images' classes, or the next token of a text.
 *
 * Owns the table of models and what depends on their task: data, inputs, what is predicted, how good it is. Newcomers: every
 * task ends in logits [n, classes] and labels [n]; loss, optimiser, checkpoints and reports do not know which it is.
 */
#ifndef FORGE_TASK_H
#define FORGE_TASK_H

#include <stdio.h>
#include "trainee.h"

struct prediction {
    forge_value logits, labels; /* [n, classes] and integers [n] */
};

/* For options that were not given. */
struct task_defaults {
    unsigned batch_size, epochs, warm_up_steps;
    bool is_adamw;
    forge_schedule_kind schedule;
    double max_norm, adamw_rate, adamw_decay;
};

struct task {
    const char *unit;      /* what is counted: "samples" */
    const char *score;     /* how good it is, a key of the report: "accuracy" */
    const char *inputs[2]; /* of programs: for each column of the datasets */
    size_t input_count;
    bool is_text;
    uint32_t test_batch; /* examples */
    double adamw_beta2;
    uint32_t ranks_without_decay; /* bit r: parameters of rank r */
    struct task_defaults defaults;
    /* Makes the datasets, and says how they are gone through. */
    joule_status (*open)(struct trainee *trainee, joule_error *error);
    /* Adds inputs for as many examples, and the model. */
    struct prediction (*predict)(const struct trainee *trainee, forge_builder *b, int64_t examples,
                                 bool is_training);
    /* What is summed over the test's units; over their number it is the score. f64, rank 0. */
    forge_value (*measure)(forge_builder *b, struct prediction prediction);
    void (*tell)(double score, uint64_t units, FILE *to);
};

struct model {
    const char *name;
    const struct task *task;
    /* Inputs as the task makes them, to logits. */
    forge_value (*build)(const struct trainee_options *options, int64_t classes, forge_builder *b,
                         forge_value x, bool is_training);
    unsigned width;  /* if not told otherwise; 0: it has no such option */
    bool has_blocks; /* that can be computed again on the way back */
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

/* NULL: there is none. */
const struct model *model_find(const char *name);
/* The name of model i; NULL after the last. */
const char *model_name(size_t i);

#endif
