/* tools/forge/trainee.h - a network in training: its programs, states and data. It prints nothing.
 *
 * Note: training and test are two programs that share the same slots.
 */
#ifndef FORGE_TRAINEE_H
#define FORGE_TRAINEE_H

#include <forge/compiler.h>
#include <forge/data.h>
#include <forge/nonfinite.h>
#include <forge/optim.h>
#include <forge/program.h>

struct model;

struct trainee_options {
    const char *model;  /* a name in task.h's table */
    const char *device; /* "cpu" */
    const char *data;   /* a folder of images, or a file of text */
    unsigned batch_size, epochs, threads;
    bool is_adamw; /* otherwise SGD */
    forge_schedule_kind schedule;
    unsigned warm_up_steps;
    double learning_rate;
    double momentum; /* SGD */
    double weight_decay;
    double max_norm; /* limit of the gradients' norm; 0: no clipping */
    uint64_t seed;
    unsigned width;                  /* width of gpt or ResNet */
    unsigned layers, heads, context; /* sizes of gpt */
    double dropout;
    bool takes_bytes;            /* tokens are bytes; otherwise characters */
    bool is_compiled;            /* fused operations are compiled (compiled_code.h) */
    bool checkpoint_activations; /* the backward pass recomputes the activations of blocks */
    forge_precision precision;
};

struct trainee {
    struct trainee_options options;
    const struct model *model;
    forge_device *device;
    forge_states *states;
    forge_text *text; /* NULL: the task has images */
    forge_dataset *train, *test;
    uint32_t stride; /* an epoch uses every stride-th example, because examples of a text overlap */
    uint32_t units;  /* units per example: its tokens; 1 for an image */
    int64_t classes;
    forge_loader *loader;
    forge_program *program;
    forge_instance *instance;
    forge_nonfinite *found; /* findings of a checked step; NULL: steps are not checked */
    forge_buffer *rate_buffer;
    float rate;                      /* learning rate of the current step */
    uint64_t parameters;             /* number of trained values */
    uint64_t steps_per_epoch, steps; /* steps: done so far */
};

/* Opens device, data and training program. The caller sets *trainee to zero before, and calls trainee_close
 * also after an error. */
joule_status trainee_open(struct trainee *trainee, const struct trainee_options *options, joule_error *error);
void trainee_close(struct trainee *trainee);
/* Trains on one batch: forward, backward and update. */
joule_status trainee_step(struct trainee *trainee, double *out_loss, joule_error *error);
/* Sets the position of the next step. The caller sets the slots. */
joule_status trainee_seek(struct trainee *trainee, forge_cursor cursor, joule_error *error);
/* Returns the position of the next batch. */
forge_cursor trainee_cursor(const struct trainee *trainee);
/* Checks all f32 slots. FAILED: the message names the first value that is not finite. */
joule_status trainee_check(struct trainee *trainee, joule_error *error);
/* Returns the task's score over all test examples, and the number of units. */
joule_status trainee_test(struct trainee *trainee, double *out_score, uint64_t *out_units,
                          joule_error *error);
/* Returns the loss scale and the number of skipped steps; false if the losses are not scaled. */
bool trainee_loss_scale(const struct trainee *trainee, double *out_scale, uint64_t *out_skipped);
/* Compiles the builder's graph for the shared slots. The caller owns *out_program and *out_instance, also
 * after an error. */
joule_status trainee_load(struct trainee *trainee, forge_builder *b, forge_program **out_program,
                          forge_instance **out_instance, joule_error *error);

#endif
