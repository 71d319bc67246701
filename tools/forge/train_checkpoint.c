/* tools/forge/train_checkpoint.c - see train_checkpoint.h. */
#include "train_checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/string.h"

#define LOSS_KEY       "train.loss"
#define VOCABULARY_KEY "train.vocabulary"
#define ID_KEY         "train.id"

#define MAX_FITS 8
/* An option that must have the same value in a checkpoint and in the run that resumes from it. */
struct fit {
    const char *option, *key; /* name of the option; key in the metadata of the checkpoint */
    char text[40];            /* value in this run */
};

/* Writes an option to *fit. Returns the next element of the array. */
static struct fit *add_word(struct fit *fit, const char *option, const char *key, const char *word)
{
    *fit = (struct fit){.option = option, .key = key};
    string_print(fit->text, sizeof fit->text, "%s", word);
    return fit + 1;
}

static struct fit *add_number(struct fit *fit, const char *option, const char *key, unsigned number)
{
    *fit = (struct fit){.option = option, .key = key};
    string_print(fit->text, sizeof fit->text, "%u", number);
    return fit + 1;
}

/* Fills `out` with the options that apply to this model. Returns the number of options. */
static size_t fits_of(const struct trainee *t, struct fit out[MAX_FITS])
{
    const struct trainee_options *o = &t->options;
    struct fit *fit = add_word(out, "model", "train.model", o->model);
    fit = add_word(fit, "optimiser", "train.optimiser", o->is_adamw ? "adamw" : "sgd");
    fit = add_number(fit, "batch", "train.batch", o->batch_size);
    if (t->text) {
        fit = add_number(fit, "layers", "train.layers", o->layers);
        fit = add_number(fit, "width", "train.width", o->width);
        fit = add_number(fit, "heads", "train.heads", o->heads);
        fit = add_number(fit, "context", "train.context", o->context);
    }
    return (size_t)(fit - out);
}

/* Returns the characters of all tokens as one string, in the order of the token numbers. The caller frees
 * the string. Returns NULL if the task has images, if tokens are bytes, or if out of memory. The
 * checkpoint stores this string, because the weights cannot be used without it. */
static char *vocabulary_of(const struct trainee *t)
{
    if (!t->text || t->options.takes_bytes)
        return NULL;
    size_t count = forge_text_vocabulary(t->text), size = 0;
    char *all = malloc(4 * count + 1);
    for (uint32_t token = 0; all && token < count; token++) {
        size_t length = forge_text_decode(t->text, token, all + size);
        size += all[size] ? length : 0; /* no text contains a NUL */
    }
    if (all)
        all[size] = '\0';
    return all;
}

joule_status checkpoint_save(const char *path, struct trainee *t, double loss, const char *id,
                             joule_quantity energy, joule_error *error)
{
    struct fit fits[MAX_FITS];
    forge_metadata texts[MAX_FITS + 3];
    char written[40], *vocabulary;
    struct text text;
    size_t count = fits_of(t, fits);
    for (size_t i = 0; i < count; i++)
        texts[i] = (forge_metadata){fits[i].key, fits[i].text};
    text_init(&text, written, sizeof written);
    if (isfinite(loss))
        text_add_double(&text, loss);
    else
        text_add(&text, "unknown");
    texts[count++] = (forge_metadata){LOSS_KEY, written};
    texts[count++] = (forge_metadata){ID_KEY, id};
    if ((vocabulary = vocabulary_of(t)))
        texts[count++] = (forge_metadata){VOCABULARY_KEY, vocabulary};
    forge_checkpoint checkpoint = {.struct_size = sizeof checkpoint,
                                   .seed = t->options.seed,
                                   .step = t->steps,
                                   .cursor = trainee_cursor(t),
                                   .energy = energy};
    joule_status status = forge_checkpoint_write(path, t->states, &checkpoint, texts, count, error);
    free(vocabulary);
    return status;
}

static joule_status check_option(const char *path, const char *option, const char *stored,
                                 const char *current, joule_error *error)
{
    if (!stored)
        return error_set(error, JOULE_INVALID,
                         "cannot resume from %s: not a checkpoint of forge train (it has no %s)", path,
                         option);
    if (strcmp(stored, current) != 0)
        return error_set(error, JOULE_INVALID, "cannot resume from %s: it was written with --%s %s, not %s",
                         path, option, stored, current);
    return JOULE_OK;
}

/* Returns JOULE_INVALID if a token number means different characters in the file and in this run. */
static joule_status check_vocabulary(const char *path, const struct trainee *t, const forge_safetensors *file,
                                     joule_error *error)
{
    const char *stored = forge_safetensors_metadata(file, VOCABULARY_KEY);
    char *current = vocabulary_of(t);
    bool is_same = current && stored ? strcmp(current, stored) == 0 : !current && !stored;
    free(current);
    return is_same ? JOULE_OK
                   : error_set(error, JOULE_INVALID, "cannot resume from %s: its text had other characters",
                               path);
}

/* Returns JOULE_INVALID if the file was written with other options. Sets loss and id of *out, or NaN and ""
 * if the file does not contain them. */
static joule_status check_fit(const char *path, const struct trainee *t, const forge_checkpoint *checkpoint,
                              struct resumed *out, joule_error *error)
{
    struct fit fits[MAX_FITS];
    char stored[24], current[24];
    forge_safetensors *file = NULL;
    joule_status status = forge_safetensors_open(path, &file, error);
    size_t count = fits_of(t, fits);
    for (size_t i = 0; status == JOULE_OK && i < count; i++)
        status = check_option(path, fits[i].option, forge_safetensors_metadata(file, fits[i].key),
                              fits[i].text, error);
    if (status == JOULE_OK)
        status = check_vocabulary(path, t, file, error);
    const char *loss = status == JOULE_OK ? forge_safetensors_metadata(file, LOSS_KEY) : NULL;
    const char *id = status == JOULE_OK ? forge_safetensors_metadata(file, ID_KEY) : NULL;
    out->loss = NAN;
    if (loss)
        string_to_double(loss, &out->loss);
    string_copy(out->id, sizeof out->id, id ? id : "");
    forge_safetensors_close(file);
    string_print(stored, sizeof stored, "%" PRIu64, checkpoint->seed);
    string_print(current, sizeof current, "%" PRIu64, t->options.seed);
    return status == JOULE_OK ? check_option(path, "seed", stored, current, error) : status;
}

/* Returns JOULE_INVALID if the position in the file does not exist in this data, or contradicts the number of
 * steps in the file. */
static joule_status check_place(const char *path, const struct trainee *t, const forge_checkpoint *checkpoint,
                                joule_error *error)
{
    forge_cursor at = checkpoint->cursor;
    uint64_t per_epoch = t->steps_per_epoch;
    if (at.batch < per_epoch && checkpoint->step / per_epoch == at.epoch &&
        checkpoint->step % per_epoch == at.batch)
        return JOULE_OK;
    return error_set(error, JOULE_INVALID,
                     "cannot resume from %s: its step %" PRIu64 " is batch %" PRIu64 " of epoch %" PRIu64
                     ", but this data has %" PRIu64 " batches in an epoch",
                     path, checkpoint->step, at.batch + 1, at.epoch + 1, per_epoch);
}

joule_status checkpoint_resume(const char *path, struct trainee *t, struct resumed *out, joule_error *error)
{
    forge_checkpoint checkpoint = {.struct_size = sizeof checkpoint};
    if (access(path, F_OK) != 0)
        return error_set(error, JOULE_ABSENT, "cannot read %s: no such file", path);
    joule_status status = forge_checkpoint_query(path, &checkpoint, error);
    if (status == JOULE_OK)
        status = check_fit(path, t, &checkpoint, out, error);
    if (status == JOULE_OK)
        status = check_place(path, t, &checkpoint, error);
    if (status == JOULE_OK)
        status = forge_checkpoint_read(path, t->states, NULL, error);
    if (status == JOULE_OK)
        status = trainee_seek(t, checkpoint.cursor, error);
    out->energy = checkpoint.energy;
    return status;
}
