/* tools/forge/trainee.h - a network that learns: its programs, its state, its data.
 *
 * Owns everything between opening a device and the loss of a step. It prints nothing. Newcomers: training and evaluation
 * are two programs over the same slots.
 */
#ifndef FORGE_TRAINEE_H
#define FORGE_TRAINEE_H

#include <forge/data.h>
#include <forge/optim.h>
#include <forge/program.h>

struct trainee_options {
    const char *model; /* "mlp", "cnn" */
    const char *data;  /* folder */
    unsigned batch_size, epochs, threads;
    double learning_rate, momentum;
    uint64_t seed;
};

struct trainee {
    struct trainee_options options;
    forge_device *device;
    forge_states *states;
    forge_dataset *train, *test;
    forge_loader *loader;
    forge_program *program;
    forge_instance *instance;
    uint64_t steps_per_epoch, steps; /* done so far */
};

/* Zero `trainee` first; on failure it is half open, and trainee_close frees what there is. */
joule_status trainee_open(struct trainee *trainee, const struct trainee_options *options, joule_error *error);
void trainee_close(struct trainee *trainee);
/* One batch, forward, backward and update. */
joule_status trainee_step(struct trainee *trainee, double *out_loss, joule_error *error);
/* The share of test examples whose class is found. */
joule_status trainee_test(struct trainee *trainee, double *out_accuracy, joule_error *error);

/* The models by name; NULL after the last. */
const char *trainee_model(size_t index, const void *context);
size_t trainee_models(void);

#endif
