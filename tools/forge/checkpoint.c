/* tools/forge/checkpoint.c - see checkpoint.h. */
#include "checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/string.h"

#define LOSS_KEY "train.loss"

/* Options that a file must agree with, by their names. */
enum { MODEL, OPTIMISER, BATCH, FITTING };
struct fit {
    const char *option, *key;
    char text[40];
};

static void fits_of(const struct trainee_options *options, struct fit out[FITTING])
{
    out[MODEL] = (struct fit){.option = "model", .key = "train.model"};
    out[OPTIMISER] = (struct fit){.option = "optimiser", .key = "train.optimiser"};
    out[BATCH] = (struct fit){.option = "batch", .key = "train.batch"};
    string_print(out[MODEL].text, sizeof out->text, "%s", options->model);
    string_print(out[OPTIMISER].text, sizeof out->text, "%s", options->is_adamw ? "adamw" : "sgd");
    string_print(out[BATCH].text, sizeof out->text, "%u", options->batch_size);
}

joule_status checkpoint_save(const char *path, struct trainee *t, double loss, joule_quantity energy,
                             joule_error *error)
{
    struct fit fits[FITTING];
    forge_metadata texts[FITTING + 1];
    char written[40];
    struct text text;
    joule_status status = trainee_check(t, error);
    if (status != JOULE_OK)
        return status;
    fits_of(&t->options, fits);
    for (size_t i = 0; i < FITTING; i++)
        texts[i] = (forge_metadata){fits[i].key, fits[i].text};
    text_init(&text, written, sizeof written);
    if (isfinite(loss))
        text_add_double(&text, loss);
    else
        text_add(&text, "unknown");
    texts[FITTING] = (forge_metadata){LOSS_KEY, written};
    forge_checkpoint checkpoint = {.struct_size = sizeof checkpoint,
                                   .seed = t->options.seed,
                                   .step = t->steps,
                                   .cursor = trainee_cursor(t),
                                   .energy = energy};
    return forge_checkpoint_write(path, t->states, &checkpoint, texts, FITTING + 1, error);
}

static joule_status check_option(const char *path, const char *option, const char *there, const char *here,
                                 joule_error *error)
{
    if (!there)
        return error_set(error, JOULE_INVALID, "%s is no checkpoint of forge train: it names no %s", path,
                         option);
    if (strcmp(there, here) != 0)
        return error_set(error, JOULE_INVALID, "%s does not fit: it was made with --%s %s, not %s", path,
                         option, there, here);
    return JOULE_OK;
}

/* The loss stays unknown where the file does not say it. */
static joule_status check_fit(const char *path, const struct trainee *t, const forge_checkpoint *checkpoint,
                              double *out_loss, joule_error *error)
{
    struct fit fits[FITTING];
    char there[24], here[24];
    forge_safetensors *file = NULL;
    joule_status status = forge_safetensors_open(path, &file, error);
    fits_of(&t->options, fits);
    for (size_t i = 0; status == JOULE_OK && i < FITTING; i++)
        status = check_option(path, fits[i].option, forge_safetensors_metadata(file, fits[i].key),
                              fits[i].text, error);
    const char *loss = status == JOULE_OK ? forge_safetensors_metadata(file, LOSS_KEY) : NULL;
    *out_loss = NAN;
    if (loss)
        string_to_double(loss, out_loss);
    forge_safetensors_close(file);
    string_print(there, sizeof there, "%" PRIu64, checkpoint->seed);
    string_print(here, sizeof here, "%" PRIu64, t->options.seed);
    return status == JOULE_OK ? check_option(path, "seed", there, here, error) : status;
}

/* Is this place one that the data has, and after as many steps? */
static joule_status check_place(const char *path, const struct trainee *t, const forge_checkpoint *checkpoint,
                                joule_error *error)
{
    forge_cursor at = checkpoint->cursor;
    uint64_t per_epoch = t->steps_per_epoch;
    if (at.batch < per_epoch && checkpoint->step / per_epoch == at.epoch &&
        checkpoint->step % per_epoch == at.batch)
        return JOULE_OK;
    return error_set(error, JOULE_INVALID,
                     "%s does not fit: step %" PRIu64 " is batch %" PRIu64 " of epoch %" PRIu64
                     " there, but this data gives %" PRIu64 " batches in an epoch",
                     path, checkpoint->step, at.batch + 1, at.epoch + 1, per_epoch);
}

joule_status checkpoint_resume(const char *path, struct trainee *t, double *out_loss,
                               joule_quantity *out_energy, joule_error *error)
{
    forge_checkpoint checkpoint = {.struct_size = sizeof checkpoint};
    if (access(path, F_OK) != 0)
        return error_set(error, JOULE_ABSENT, "there is no %s", path);
    joule_status status = forge_checkpoint_look(path, &checkpoint, error);
    if (status == JOULE_OK)
        status = check_fit(path, t, &checkpoint, out_loss, error);
    if (status == JOULE_OK)
        status = check_place(path, t, &checkpoint, error);
    if (status == JOULE_OK)
        status = forge_checkpoint_read(path, t->states, NULL, error);
    if (status == JOULE_OK)
        status = trainee_seek(t, checkpoint.cursor, error);
    *out_energy = checkpoint.energy;
    return status;
}
