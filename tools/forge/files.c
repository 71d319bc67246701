/* tools/forge/files.c - see files.h. */
#include "files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "common/options.h"
#include "forge/ir/program.h"
#include "forge/serialize/npy.h"
#include "forge/serialize/safetensors.h"

#define MAX_TEXT_BYTES (UINT64_C(1) << 30) /* the text of a graph contains constants but no weights */

joule_status graph_read(const char *path, forge_graph **out_graph, joule_error *out_error)
{
    char *text;
    size_t length;
    joule_error reason = {0};
    joule_status status = file_read_all(path, MAX_TEXT_BYTES, NULL, &text, &length, out_error);
    if (status != JOULE_OK)
        return status;
    status = forge_graph_parse(text, length, out_graph, &reason);
    free(text);
    return status == JOULE_OK ? status : error_set(out_error, status, "%s: %s", path, reason.message);
}

/* --- kinds ---------------------------------------------------------------------------------------------- */

/* Returns true if the first word after blanks and comments is "forge". */
static bool begins_graph(const char *text, size_t length)
{
    static const char word[] = "forge";
    size_t at = 0;
    while (at < length && (strchr(" \t\r\n", text[at]) || text[at] == '#')) {
        const char *end = text[at] == '#' ? memchr(text + at, '\n', length - at) : text + at;
        at = end ? (size_t)(end - text) + 1 : length;
    }
    return at + strlen(word) <= length && memcmp(text + at, word, strlen(word)) == 0;
}

static enum file_kind kind_of(const char *bytes, size_t size)
{
    static const uint32_t program_magic = PROGRAM_MAGIC;
    if (size >= sizeof program_magic && memcmp(bytes, &program_magic, sizeof program_magic) == 0)
        return FILE_PROGRAM;
    if (size >= strlen(NPY_MAGIC) && memcmp(bytes, NPY_MAGIC, strlen(NPY_MAGIC)) == 0)
        return FILE_NPY;
    if (size > SAFETENSORS_LENGTH_SIZE && bytes[SAFETENSORS_LENGTH_SIZE] == '{')
        return FILE_SAFETENSORS;
    return begins_graph(bytes, size) ? FILE_GRAPH : FILE_UNKNOWN;
}

joule_status file_kind(const char *path, enum file_kind *out_kind, joule_error *out_error)
{
    char bytes[65536];
    struct file file;
    joule_status status = file_open(&file, path, out_error);
    if (status != JOULE_OK)
        return status;
    size_t size = file.size < sizeof bytes ? (size_t)file.size : sizeof bytes;
    status = file_read(&file, 0, bytes, size, out_error);
    file_close(&file);
    if (status == JOULE_OK)
        *out_kind = kind_of(bytes, size);
    return status;
}

/* --- output --------------------------------------------------------------------------------------------- */

const char *bytes_text(double bytes, char out[BYTES_TEXT])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;
    if (isnan(bytes))
        return "unknown";
    for (; bytes >= 1024 && i + 1 < sizeof units / sizeof *units; i++)
        bytes /= 1024;
    snprintf(out, BYTES_TEXT, i ? "%.2f %s" : "%.0f %s", bytes, units[i]);
    return out;
}

const char *flop_text(double flop, char out[BYTES_TEXT])
{
    static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
    size_t i = 0;
    if (isnan(flop))
        return "unknown";
    for (; flop >= 1000 && i + 1 < sizeof units / sizeof *units; i++)
        flop /= 1000;
    snprintf(out, BYTES_TEXT, i ? "%.2f %s" : "%.0f %s", flop, units[i]);
    return out;
}

const char *memory_text(const forge_program *program, char out[MEMORY_TEXT])
{
    forge_program_facts facts = {.struct_size = sizeof facts};
    char arena[BYTES_TEXT], bound[BYTES_TEXT], state[BYTES_TEXT], constant[BYTES_TEXT];
    forge_program_query(program, &facts);
    snprintf(out, MEMORY_TEXT, "arena %s (at least %s), state %s, constants %s",
             bytes_text((double)facts.arena_bytes, arena), bytes_text((double)facts.arena_bound_bytes, bound),
             bytes_text((double)facts.state_bytes, state),
             bytes_text((double)facts.constant_bytes, constant));
    return out;
}
