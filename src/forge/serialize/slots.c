/* serialize/slots.c - loads and saves the slots of a program: see <forge/serialize.h>.
 *
 * Note: all checks run before the first slot changes, and one message reports all errors.
 */
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/serialize/slots.h"

enum { MAX_NAMED = 4, PIECE_ELEMENTS = 4096 };

/* Fails if the slots have no values, because their device only estimates. */
static joule_status check_values(forge_states *states, const char *path, joule_error *error)
{
    forge_tensor slot;
    const char *name;
    if (forge_states_get(states, 0, &slot, &name) != JOULE_UNSUPPORTED)
        return JOULE_OK;
    return error_set(error, JOULE_UNSUPPORTED, "%s: the slots have no values: their device only estimates",
                     path);
}

/* --- checks --------------------------------------------------------------------------------------------- */

/* One kind of error, with the names of the first few slots. */
struct complaint {
    const char *what;
    size_t count;
    struct text text;
    char names[160];
};

static void begin(struct complaint *complaint, const char *what)
{
    complaint->what = what;
    complaint->count = 0;
    text_init(&complaint->text, complaint->names, sizeof complaint->names);
}

/* Counts one more error. Returns true if it is one of the first, which are named. */
static bool is_named(struct complaint *complaint)
{
    if (complaint->count++ >= MAX_NAMED)
        return false;
    text_add(&complaint->text, complaint->count > 1 ? ", " : "");
    return true;
}

static void complain(struct complaint *complaint, const char *name)
{
    if (is_named(complaint))
        text_printf(&complaint->text, "'%.40s'", name);
}

static void tell(struct text *text, const struct complaint *complaint)
{
    if (complaint->count == 0)
        return;
    text_printf(text, "%s%s %s", text->length ? "; " : "", complaint->what, complaint->names);
    if (complaint->count > MAX_NAMED)
        text_printf(text, " and %zu more", complaint->count - MAX_NAMED);
}

static void compare(struct complaint *complaint, const struct entry *entry, const forge_tensor *slot,
                    uint32_t flags)
{
    char is[200], wanted[200];
    if (forge_shape_equal(&entry->shape, &slot->shape) &&
        (entry->dtype == slot->dtype || (flags & FORGE_LOAD_CONVERT)))
        return;
    forge_shape_format(&entry->shape, is, sizeof is);
    forge_shape_format(&slot->shape, wanted, sizeof wanted);
    if (is_named(complaint))
        text_printf(&complaint->text, "'%.40s' is %s%s, not %s%s", entry->name,
                    forge_dtype_name(entry->dtype), is, forge_dtype_name(slot->dtype), wanted);
}

static joule_status check(forge_states *states, const forge_safetensors *file, uint32_t flags,
                          joule_error *error)
{
    struct complaint missing, unexpected, other;
    const char *name;
    forge_tensor slot;
    size_t k;
    begin(&other, "wrong:");
    begin(&missing, "missing:");
    begin(&unexpected, "unexpected:");
    for (size_t i = 0; forge_states_get(states, i, &slot, &name) == JOULE_OK; i++) {
        if (forge_safetensors_find(file, name, &k) == JOULE_OK)
            compare(&other, &file->entries[k], &slot, flags);
        else if (!(flags & FORGE_LOAD_KEEP_MISSING))
            complain(&missing, name);
    }
    for (size_t i = 0; i < file->entry_count && !(flags & FORGE_LOAD_SKIP_UNEXPECTED); i++)
        if (forge_states_find(states, file->entries[i].name, &slot) == JOULE_ABSENT)
            complain(&unexpected, file->entries[i].name);
    if (missing.count + unexpected.count + other.count == 0)
        return JOULE_OK;
    char message[400];
    struct text text;
    text_init(&text, message, sizeof message);
    tell(&text, &other);
    tell(&text, &missing);
    tell(&text, &unexpected);
    return error_set(error, JOULE_INVALID, "%s does not fit the slots: %s", file->path, message);
}

/* --- load ----------------------------------------------------------------------------------------------- */

/* Reads an entry piece by piece and converts it to the type of the slot. */
static joule_status convert(const forge_safetensors *file, const struct entry *entry,
                            const forge_tensor *slot, joule_error *error)
{
    uint64_t piece[PIECE_ELEMENTS]; /* 8 bytes per element: the widest type of a file */
    size_t count = forge_tensor_elements(slot);
    joule_status status = JOULE_OK;
    for (size_t first = 0; status == JOULE_OK && first < count; first += PIECE_ELEMENTS) {
        size_t some = count - first < PIECE_ELEMENTS ? count - first : PIECE_ELEMENTS;
        char *to = (char *)forge_tensor_data(slot) + forge_dtype_size_bytes(slot->dtype, first);
        status = safetensors_read_bytes(file, entry, forge_dtype_size_bytes(entry->dtype, first), piece,
                                        forge_dtype_size_bytes(entry->dtype, some), error);
        if (status == JOULE_OK)
            status = forge_convert(entry->dtype, piece, slot->dtype, to, some);
    }
    return status;
}

static joule_status fill(const forge_safetensors *file, const struct entry *entry, const forge_tensor *slot,
                         joule_error *error)
{
    joule_error own = {0};
    joule_status status;
    if (entry->dtype == slot->dtype)
        status = safetensors_read_bytes(file, entry, 0, forge_tensor_data(slot),
                                        (size_t)(entry->end - entry->begin), &own);
    else
        status = convert(file, entry, slot, &own);
    if (status != JOULE_OK)
        error_set(error, status, "%s; slots are partially loaded", own.message);
    return status;
}

joule_status slots_load(forge_states *states, const forge_safetensors *file, uint32_t flags,
                        joule_error *out_error)
{
    joule_status status = check_values(states, file->path, out_error);
    if (status == JOULE_OK)
        status = check(states, file, flags, out_error);
    for (size_t i = 0; status == JOULE_OK && i < file->entry_count; i++) {
        forge_tensor slot;
        if (forge_states_find(states, file->entries[i].name, &slot) == JOULE_OK)
            status = fill(file, &file->entries[i], &slot, out_error);
    }
    return status;
}

joule_status forge_states_load(forge_states *states, const char *path, uint32_t flags, joule_error *out_error)
{
    forge_safetensors *file = NULL;
    if (!states ||
        flags & ~(uint32_t)(FORGE_LOAD_KEEP_MISSING | FORGE_LOAD_SKIP_UNEXPECTED | FORGE_LOAD_CONVERT))
        return error_set(out_error, states ? JOULE_UNSUPPORTED : JOULE_INVALID,
                         "forge_states_load: states is NULL, or a flag is unknown");
    joule_status status = forge_safetensors_open(path, &file, out_error);
    if (status == JOULE_OK)
        status = slots_load(states, file, flags, out_error);
    forge_safetensors_close(file);
    return status;
}

/* --- save ----------------------------------------------------------------------------------------------- */

joule_status slots_save(forge_states *states, const char *path, bool (*keeps)(const char *, void *),
                        void *context, const forge_metadata *metadata, size_t metadata_count,
                        joule_error *out_error)
{
    joule_status status = check_values(states, path, out_error);
    if (status != JOULE_OK)
        return status;
    forge_named_tensor *tensors = calloc(forge_states_count(states) + 1, sizeof *tensors), next;
    size_t count = 0;
    if (!tensors)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot write %s: out of memory", path);
    for (size_t i = 0; forge_states_get(states, i, &next.tensor, &next.name) == JOULE_OK; i++)
        if (!keeps || keeps(next.name, context))
            tensors[count++] = next;
    status = forge_safetensors_write(path, tensors, count, metadata, metadata_count, out_error);
    free(tensors);
    return status;
}

joule_status forge_states_save(forge_states *states, const char *path,
                               bool (*keeps)(const char *name, void *context), void *context,
                               joule_error *out_error)
{
    if (!states || !path)
        return error_set(out_error, JOULE_INVALID, "forge_states_save: states or path is NULL");
    return slots_save(states, path, keeps, context, NULL, 0, out_error);
}
