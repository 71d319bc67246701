/* tools/forge/trainee.h - a network that learns: its programs, its state, its data.
 *
 * Owns everything between opening a device and the loss of a step. It prints nothing. Newcomers: training and evaluation
 * are two programs over the same slots.
 */
#ifndef FORGE_TRAINEE_H
#define FORGE_TRAINEE_H

#include <forge/data.h>
#include <forge/nonfinite.h>
#include <forge/optim.h>
#include <forge/program.h>

struct model;

struct trainee_options {
    const char *model;  /* one of task.h's */
    const char *device; /* "cpu" */
    const char *data;   /* a folder of images, or a text */
    unsigned batch_size, epochs, threads;
    bool is_adamw; /* else SGD */
    forge_schedule_kind schedule;
    unsigned warm_up_steps;
    double learning_rate;
    double momentum; /* SGD */
    double weight_decay;
    double max_norm; /* of the gradients; 0: not clipped */
    uint64_t seed;
    unsigned width;                  /* of a gpt or a ResNet */
    unsigned layers, heads, context; /* of a gpt */
    double dropout;
    bool takes_bytes; /* of a text; else characters */
    bool recomputes;  /* blocks, on the way back */
};

struct trainee {
    struct trainee_options options;
    const struct model *model;
    forge_device *device;
    forge_states *states;
    forge_text *text; /* NULL: images */
    forge_dataset *train, *test;
    uint32_t stride; /* of examples that overlap, one of as many is taken */
    uint32_t units;  /* in an example: tokens, or 1 */
    int64_t classes;
    forge_loader *loader;
    forge_program *program;
    forge_instance *instance;
    forge_nonfinite *found; /* what a step finds; NULL: steps are not checked */
    forge_buffer *rate_buffer;
    float rate;                      /* of the step that runs */
    uint64_t parameters;             /* numbers that are learned */
    uint64_t steps_per_epoch, steps; /* done so far */
};

/* Zero `trainee` first; on failure it is half open, and trainee_close frees what there is. */
joule_status trainee_open(struct trainee *trainee, const struct trainee_options *options, joule_error *error);
void trainee_close(struct trainee *trainee);
/* One batch, forward, backward and update. */
joule_status trainee_step(struct trainee *trainee, double *out_loss, joule_error *error);
/* The step that comes next will be this one; the slots are the caller's to fill. */
joule_status trainee_seek(struct trainee *trainee, forge_cursor cursor, joule_error *error);
/* Where the next batch lies. */
forge_cursor trainee_cursor(const struct trainee *trainee);
/* FAILED names the first slot of f32 that holds what is not a finite number. */
joule_status trainee_check(struct trainee *trainee, joule_error *error);
/* The task's score over the test examples, and of how many units it is. */
joule_status trainee_test(struct trainee *trainee, double *out_score, uint64_t *out_units,
                          joule_error *error);
/* Compiles what the builder holds, for slots that training shares. Both are the caller's, whatever comes back. */
joule_status trainee_load(struct trainee *trainee, forge_builder *b, forge_program **out_program,
                          forge_instance **out_instance, joule_error *error);

#endif
