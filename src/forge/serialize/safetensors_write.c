/* serialize/safetensors_write.c - writes safetensors files: see <forge/serialize.h>.
 *
 * Note: the header is padded with spaces to a multiple of 8 bytes, and tensors with wider types are stored
 * first. So the elements of every tensor are aligned if the file is mapped into memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/serialize/safetensors.h"

struct writing {
    const char *path;
    const forge_named_tensor *tensors;
    size_t count;
    size_t *order; /* indices of tensors, in the order of the file */
    joule_error *error;
};

static size_t size_of(const forge_tensor *tensor)
{
    return forge_dtype_size_bytes(tensor->dtype, forge_tensor_elements(tensor));
}

/* --- checks and order ----------------------------------------------------------------------------------- */

static bool is_utf8(const char *text)
{
    for (size_t left = strlen(text), step; left > 0; text += step, left -= step)
        if ((step = string_utf8_length(text, left)) == 0)
            return false;
    return true;
}

static joule_status check_tensor(const struct writing *w, const forge_named_tensor *named)
{
    if (!named->name || !is_utf8(named->name) || strcmp(named->name, SAFETENSORS_METADATA) == 0)
        return error_set(w->error, JOULE_INVALID, "%s: '%.60s' cannot be the name of a tensor", w->path,
                         named->name ? named->name : "");
    if (!safetensors_is_printable(named->name))
        return error_set(w->error, JOULE_INVALID, "%s: the name of tensor %zu contains a control character",
                         w->path, (size_t)(named - w->tensors));
    if (!safetensors_dtype_name(named->tensor.dtype))
        return error_set(
            w->error, JOULE_UNSUPPORTED,
            "%s: tensor '%.60s' has the type %s, which safetensors files cannot contain; convert it first",
            w->path, named->name, forge_dtype_name(named->tensor.dtype));
    if (!forge_tensor_is_packed(&named->tensor))
        return error_set(w->error, JOULE_INVALID, "%s: tensor '%.60s' is not packed; copy it first", w->path,
                         named->name);
    return JOULE_OK;
}

static int by_name(const void *a, const void *b, void *context)
{
    const forge_named_tensor *tensors = context;
    return strcmp(tensors[*(const size_t *)a].name, tensors[*(const size_t *)b].name);
}

static int by_width(const void *a, const void *b, void *context)
{
    const forge_named_tensor *tensors = context;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    size_t wide = forge_dtype_block_bytes(tensors[i].tensor.dtype),
           other = forge_dtype_block_bytes(tensors[k].tensor.dtype);
    if (wide != other)
        return wide > other ? -1 : 1;
    return i < k ? -1 : 1;
}

static joule_status arrange(struct writing *w)
{
    for (size_t i = 0; i < w->count; i++) {
        joule_status status = check_tensor(w, &w->tensors[i]);
        if (status != JOULE_OK)
            return status;
        w->order[i] = i;
    }
    void *tensors = (void *)(uintptr_t)w->tensors;
    qsort_r(w->order, w->count, sizeof *w->order, by_name, tensors);
    for (size_t i = 1; i < w->count; i++)
        if (by_name(&w->order[i - 1], &w->order[i], tensors) == 0)
            return error_set(w->error, JOULE_INVALID, "%s: there are two tensors '%.60s'", w->path,
                             w->tensors[w->order[i]].name);
    qsort_r(w->order, w->count, sizeof *w->order, by_width, tensors);
    return JOULE_OK;
}

/* --- the header ----------------------------------------------------------------------------------------- */

static void print_string(FILE *out, const char *string)
{
    fputc('"', out);
    for (; *string; string++) {
        if (*string == '"' || *string == '\\')
            fprintf(out, "\\%c", *string);
        else if ((unsigned char)*string < ' ')
            fprintf(out, "\\u%04x", *string);
        else
            fputc(*string, out);
    }
    fputc('"', out);
}

static void print_entry(FILE *out, const forge_named_tensor *named, uint64_t begin)
{
    const forge_shape *shape = &named->tensor.shape;
    print_string(out, named->name);
    fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", safetensors_dtype_name(named->tensor.dtype));
    for (uint32_t i = 0; i < shape->rank; i++)
        fprintf(out, "%s%" PRId64, i ? "," : "", shape->dims[i]);
    fprintf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, begin + size_of(&named->tensor));
}

static void print_metadata(FILE *out, const forge_metadata *metadata, size_t count)
{
    fputs("\"" SAFETENSORS_METADATA "\":{", out);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? "," : "", out);
        print_string(out, metadata[i].key);
        fputc(':', out);
        print_string(out, metadata[i].text);
    }
    fputc('}', out);
}

/* Returns the padded header, which the caller frees with free(); NULL if out of memory. */
static char *make_header(const struct writing *w, const forge_metadata *metadata, size_t metadata_count,
                         size_t *out_size)
{
    char *header = NULL;
    uint64_t begin = 0;
    FILE *out = open_memstream(&header, out_size);
    if (!out)
        return NULL;
    fputc('{', out);
    if (metadata_count)
        print_metadata(out, metadata, metadata_count);
    for (size_t i = 0; i < w->count; i++) {
        const forge_named_tensor *named = &w->tensors[w->order[i]];
        fputs(i || metadata_count ? "," : "", out);
        print_entry(out, named, begin);
        begin += size_of(&named->tensor);
    }
    fputc('}', out);
    for (long at = ftell(out); at % SAFETENSORS_LENGTH_SIZE; at++)
        fputc(' ', out);
    if (ferror(out) + fclose(out) == 0)
        return header;
    free(header);
    return NULL;
}

/* --- the file ------------------------------------------------------------------------------------------- */

static joule_status write_file(const struct writing *w, const char *header, size_t header_size)
{
    struct draft draft;
    uint8_t length[SAFETENSORS_LENGTH_SIZE];
    for (size_t i = 0; i < sizeof length; i++)
        length[i] = (uint8_t)((uint64_t)header_size >> 8 * i);
    draft_begin(&draft, w->path, w->error);
    draft_write(&draft, length, sizeof length);
    draft_write(&draft, header, header_size);
    for (size_t i = 0; i < w->count; i++) {
        const forge_tensor *tensor = &w->tensors[w->order[i]].tensor;
        draft_write(&draft, forge_tensor_data(tensor), size_of(tensor));
    }
    return draft_end(&draft, JOULE_OK);
}

static joule_status check_metadata(const struct writing *w, const forge_metadata *metadata, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!metadata[i].key || !metadata[i].text || !is_utf8(metadata[i].key) || !is_utf8(metadata[i].text))
            return error_set(w->error, JOULE_INVALID, "%s: text %zu of the metadata is NULL or not UTF-8",
                             w->path, i);
        for (size_t k = 0; k < i; k++)
            if (strcmp(metadata[i].key, metadata[k].key) == 0)
                return error_set(w->error, JOULE_INVALID, "%s: there are two texts '%.60s'", w->path,
                                 metadata[i].key);
    }
    return JOULE_OK;
}

joule_status forge_safetensors_write(const char *path, const forge_named_tensor *tensors, size_t count,
                                     const forge_metadata *metadata, size_t metadata_count,
                                     joule_error *out_error)
{
    if (!path || (!tensors && count) || (!metadata && metadata_count))
        return error_set(out_error, JOULE_INVALID,
                         "forge_safetensors_write: path, tensors or metadata is NULL");
    struct writing w = {path, tensors, count, calloc(count + 1, sizeof *w.order), out_error};
    size_t header_size = 0;
    char *header = NULL;
    joule_status status = w.order ? arrange(&w) : JOULE_NO_MEMORY;
    if (status == JOULE_OK)
        status = check_metadata(&w, metadata, metadata_count);
    if (status == JOULE_OK && !(header = make_header(&w, metadata, metadata_count, &header_size)))
        status = JOULE_NO_MEMORY;
    if (status == JOULE_NO_MEMORY)
        error_set(out_error, status, "cannot write %s: out of memory", path);
    if (status == JOULE_OK)
        status = write_file(&w, header, header_size);
    free(header);
    free(w.order);
    return status;
}
