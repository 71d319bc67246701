/* serialize/checkpoint.c - see <forge/checkpoint.h>.
 *
 * A checkpoint is a safetensors file whose metadata contains the keys below. All values are strings. A double
 * is written as the shortest text that is read back as the same double. NaN is written as "unknown".
 */
#include <forge/checkpoint.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/abi.h"
#include "base/error.h"
#include "base/string.h"
#include "forge/runtime/states.h"
#include "forge/serialize/slots.h"

#define OWN_KEYS    "forge."
#define VERSION_KEY "forge.checkpoint"
#define VERSION     "1"
#define FIRST_SIZE  SIZE_UP_TO(forge_checkpoint, energy)

enum kind { WHOLE, NUMBER, CLASS };

static const struct field {
    const char *key;
    enum kind kind;
    size_t offset;
} fields[] = {
    {"forge.seed", WHOLE, offsetof(forge_checkpoint, seed)},
    {"forge.step", WHOLE, offsetof(forge_checkpoint, step)},
    {"forge.epoch", WHOLE, offsetof(forge_checkpoint, cursor.epoch)},
    {"forge.batch", WHOLE, offsetof(forge_checkpoint, cursor.batch)},
    {"forge.energy_joules", NUMBER, offsetof(forge_checkpoint, energy.value)},
    {"forge.energy_joules_low", NUMBER, offsetof(forge_checkpoint, energy.low)},
    {"forge.energy_joules_high", NUMBER, offsetof(forge_checkpoint, energy.high)},
    {"forge.energy_class", CLASS, offsetof(forge_checkpoint, energy.cls)},
};
enum { FIELDS = sizeof fields / sizeof *fields, TEXT_SIZE = 40 };

/* --- fields and strings --------------------------------------------------------------------------------- */

static void write_field(const struct field *field, const forge_checkpoint *checkpoint, char out[TEXT_SIZE])
{
    const char *member = (const char *)checkpoint + field->offset;
    uint64_t whole;
    double number;
    joule_class cls;
    struct text text;
    text_init(&text, out, TEXT_SIZE);
    switch (field->kind) {
    case WHOLE:
        memcpy(&whole, member, sizeof whole);
        text_printf(&text, "%" PRIu64, whole);
        break;
    case NUMBER:
        memcpy(&number, member, sizeof number);
        if (isfinite(number))
            text_add_double(&text, number);
        else
            text_add(&text, "unknown");
        break;
    case CLASS:
        memcpy(&cls, member, sizeof cls);
        text_add(&text, joule_class_name(cls));
        break;
    }
}

static bool read_class(const char *text, joule_class *out)
{
    for (int i = JOULE_CLASS_NONE; i <= JOULE_CLASS_ASSUMED; i++)
        if (strcmp(joule_class_name((joule_class)i), text) == 0) {
            *out = (joule_class)i;
            return true;
        }
    return false;
}

static bool read_field(const struct field *field, const char *text, forge_checkpoint *out)
{
    char *member = (char *)out + field->offset;
    uint64_t whole = 0;
    double number = NAN;
    joule_class cls = JOULE_CLASS_NONE;
    switch (field->kind) {
    case WHOLE:
        if (!string_to_u64(text, 10, &whole))
            return false;
        memcpy(member, &whole, sizeof whole);
        return true;
    case NUMBER:
        if (strcmp(text, "unknown") != 0 && !string_to_double(text, &number))
            return false;
        memcpy(member, &number, sizeof number);
        return true;
    case CLASS:
        if (!read_class(text, &cls))
            return false;
        memcpy(member, &cls, sizeof cls);
        return true;
    }
    return false;
}

/* --- writing -------------------------------------------------------------------------------------------- */

joule_status forge_checkpoint_write(const char *path, forge_states *states,
                                    const forge_checkpoint *checkpoint, const forge_metadata *texts,
                                    size_t text_count, joule_error *out_error)
{
    forge_checkpoint own;
    char written[FIELDS][TEXT_SIZE];
    if (!path || !states || (!texts && text_count) ||
        abi_read(&own, sizeof own, FIRST_SIZE, checkpoint) != JOULE_OK)
        return error_set(
            out_error, JOULE_INVALID,
            "forge_checkpoint_write: an argument is NULL, or struct_size is not sizeof(forge_checkpoint)");
    for (size_t i = 0; i < text_count; i++)
        if (!texts[i].key || string_starts(texts[i].key, OWN_KEYS))
            return error_set(out_error, JOULE_INVALID, "%s: text %zu cannot have the key '%.40s'", path, i,
                             texts[i].key ? texts[i].key : "");
    forge_metadata *all = calloc(1 + FIELDS + text_count, sizeof *all);
    if (!all)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot write %s: out of memory", path);
    all[0] = (forge_metadata){VERSION_KEY, VERSION};
    for (size_t i = 0; i < FIELDS; i++) {
        write_field(&fields[i], &own, written[i]);
        all[1 + i] = (forge_metadata){fields[i].key, written[i]};
    }
    if (text_count)
        memcpy(all + 1 + FIELDS, texts, text_count * sizeof *texts);
    joule_status status = slots_save(states, path, NULL, NULL, all, 1 + FIELDS + text_count, out_error);
    free(all);
    return status;
}

/* --- reading -------------------------------------------------------------------------------------------- */

static joule_status read_fields(const forge_safetensors *file, forge_checkpoint *out, joule_error *error)
{
    const char *version = forge_safetensors_metadata(file, VERSION_KEY);
    *out = (forge_checkpoint){.struct_size = sizeof *out};
    if (!version)
        return error_set(error, JOULE_INVALID,
                         "%s is a safetensors file, but not a checkpoint: its metadata has no '" VERSION_KEY
                         "'",
                         file->path);
    if (strcmp(version, VERSION) != 0)
        return error_set(error, JOULE_UNSUPPORTED,
                         "%s is a checkpoint of version '%.20s', but only version " VERSION " is supported",
                         file->path, version);
    for (size_t i = 0; i < FIELDS; i++) {
        const char *text = forge_safetensors_metadata(file, fields[i].key);
        if (!text || !read_field(&fields[i], text, out))
            return error_set(error, JOULE_INVALID, "%s is a damaged checkpoint: '%s' is '%.40s'", file->path,
                             fields[i].key, text ? text : "(missing)");
    }
    return JOULE_OK;
}

/* Reads the members of a checkpoint, and fills the slots of `states` unless `states` is NULL. */
static joule_status read_file(const char *path, forge_states *states, forge_checkpoint *out,
                              joule_error *error)
{
    forge_safetensors *file = NULL;
    joule_status status = forge_safetensors_open(path, &file, error);
    if (status == JOULE_OK)
        status = read_fields(file, out, error);
    if (status == JOULE_OK && states)
        status = slots_load(states, file, 0, error);
    if (status == JOULE_OK && states)
        states->seed = out->seed;
    forge_safetensors_close(file);
    return status;
}

joule_status forge_checkpoint_query(const char *path, forge_checkpoint *out_checkpoint,
                                    joule_error *out_error)
{
    forge_checkpoint own;
    if (!path || !abi_has_room(out_checkpoint, FIRST_SIZE))
        return error_set(
            out_error, JOULE_INVALID,
            "forge_checkpoint_query: an argument is NULL, or struct_size is not sizeof(forge_checkpoint)");
    joule_status status = read_file(path, NULL, &own, out_error);
    if (status == JOULE_OK)
        abi_write(out_checkpoint, &own, sizeof own);
    return status;
}

joule_status forge_checkpoint_read(const char *path, forge_states *states, forge_checkpoint *out_checkpoint,
                                   joule_error *out_error)
{
    forge_checkpoint own;
    if (!path || !states || (out_checkpoint && !abi_has_room(out_checkpoint, FIRST_SIZE)))
        return error_set(
            out_error, JOULE_INVALID,
            "forge_checkpoint_read: an argument is NULL, or struct_size is not sizeof(forge_checkpoint)");
    joule_status status = read_file(path, states, &own, out_error);
    if (status == JOULE_OK && out_checkpoint)
        abi_write(out_checkpoint, &own, sizeof own);
    return status;
}
