/* serialize/slots.c - loads and saves the slots of a program: see <forge/serialize.h>.
 *
 * Note: all tensors are checked before the first slot changes, and one message reports all errors.
 */
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/serialize/slots.h"

enum { MAX_NAMED = 4, PIECE_ELEMENTS = 4096 };

/* Returns JOULE_UNSUPPORTED, with a message, if the device of the slots only estimates. Slots on such a
 * device have no values. */
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

/* The errors of one kind: their number, and the names of the first slots. */
struct problem {
    const char *what;
    size_t count;
    struct text text;
    char names[160];
};

static void init_problem(struct problem *problem, const char *what)
{
    problem->what = what;
    problem->count = 0;
    text_init(&problem->text, problem->names, sizeof problem->names);
}

/* Counts an error. Returns true if the message must name its slot, because the error is one of the first. */
static bool count_problem(struct problem *problem)
{
    if (problem->count++ >= MAX_NAMED)
        return false;
    text_add(&problem->text, problem->count > 1 ? ", " : "");
    return true;
}

static void add_problem(struct problem *problem, const char *name)
{
    if (count_problem(problem))
        text_printf(&problem->text, "'%.40s'", name);
}

static void print_problem(struct text *text, const struct problem *problem)
{
    if (problem->count == 0)
        return;
    text_printf(text, "%s%s %s", text->length ? "; " : "", problem->what, problem->names);
    if (problem->count > MAX_NAMED)
        text_printf(text, " and %zu more", problem->count - MAX_NAMED);
}

static void compare(struct problem *problem, const struct entry *entry, const forge_tensor *slot,
                    uint32_t flags)
{
    char is[200], wanted[200];
    if (forge_shape_equal(&entry->shape, &slot->shape) &&
        (entry->dtype == slot->dtype || (flags & FORGE_LOAD_CONVERT)))
        return;
    forge_shape_format(&entry->shape, is, sizeof is);
    forge_shape_format(&slot->shape, wanted, sizeof wanted);
    if (count_problem(problem))
        text_printf(&problem->text, "'%.40s' is %s%s, not %s%s", entry->name, forge_dtype_name(entry->dtype),
                    is, forge_dtype_name(slot->dtype), wanted);
}

static joule_status check(forge_states *states, const forge_safetensors *file, uint32_t flags,
                          joule_error *error)
{
    struct problem missing, unexpected, other;
    const char *name;
    forge_tensor slot;
    size_t k;
    init_problem(&other, "wrong:");
    init_problem(&missing, "missing:");
    init_problem(&unexpected, "unexpected:");
    for (size_t i = 0; forge_states_get(states, i, &slot, &name) == JOULE_OK; i++) {
        if (forge_safetensors_find(file, name, &k) == JOULE_OK)
            compare(&other, &file->entries[k], &slot, flags);
        else if (!(flags & FORGE_LOAD_KEEP_MISSING))
            add_problem(&missing, name);
    }
    for (size_t i = 0; i < file->entry_count && !(flags & FORGE_LOAD_SKIP_UNEXPECTED); i++)
        if (forge_states_find(states, file->entries[i].name, &slot) == JOULE_ABSENT)
            add_problem(&unexpected, file->entries[i].name);
    if (missing.count + unexpected.count + other.count == 0)
        return JOULE_OK;
    char message[400];
    struct text text;
    text_init(&text, message, sizeof message);
    print_problem(&text, &other);
    print_problem(&text, &missing);
    print_problem(&text, &unexpected);
    return error_set(error, JOULE_INVALID, "%s does not fit the slots: %s", file->path, message);
}

/* --- load ----------------------------------------------------------------------------------------------- */

/* Reads an entry in pieces, and converts each piece to the type of the slot. */
static joule_status convert(const forge_safetensors *file, const struct entry *entry,
                            const forge_tensor *slot, joule_error *error)
{
    uint64_t piece[PIECE_ELEMENTS]; /* 8 bytes per element, for the widest type of a file */
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
