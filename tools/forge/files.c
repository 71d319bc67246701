/* tools/forge/files.c - see files.h. */
#include "files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "common/options.h"
#include "forge/serialize/file.h"

#define MOST_TEXT (UINT64_C(1) << 30) /* constants stand in it, weights do not */

static joule_status text_read(const char *path, char **out_text, size_t *out_length, joule_error *error)
{
    struct file file;
    joule_status status = file_open(&file, path, error);
    if (status != JOULE_OK)
        return status;
    char *text = NULL;
    if (file.size > MOST_TEXT)
        status = error_set(error, JOULE_INVALID, "%s: more than 1 GiB is no graph's text", path);
    else if (!(text = malloc((size_t)file.size + 1)))
        status = error_set(error, JOULE_NO_MEMORY, "%s: no memory for its text", path);
    else
        status = file_read(&file, 0, text, (size_t)file.size, error);
    *out_length = (size_t)file.size;
    file_close(&file);
    if (status == JOULE_OK)
        *out_text = text;
    else
        free(text);
    return status;
}

joule_status graph_read(const char *path, forge_graph **out_graph, joule_error *out_error)
{
    char *text;
    size_t length;
    joule_error reason = {0};
    joule_status status = text_read(path, &text, &length, out_error);
    if (status != JOULE_OK)
        return status;
    status = forge_graph_parse(text, length, out_graph, &reason);
    free(text);
    return status == JOULE_OK ? status : error_set(out_error, status, "%s: %s", path, reason.message);
}

/* --- output -------------------------------------------------------------------------------------------------- */

const char *bytes_text(double bytes, char out[BYTES_TEXT])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;
    for (; bytes >= 1024 && i + 1 < sizeof units / sizeof *units; i++)
        bytes /= 1024;
    snprintf(out, BYTES_TEXT, i ? "%.2f %s" : "%.0f %s", bytes, units[i]);
    return out;
}

const char *flop_text(double flop, char out[BYTES_TEXT])
{
    static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
    size_t i = 0;
    for (; flop >= 1000 && i + 1 < sizeof units / sizeof *units; i++)
        flop /= 1000;
    snprintf(out, BYTES_TEXT, i ? "%.2f %s" : "%.0f %s", flop, units[i]);
    return out;
}

int end_output(const char *subcommand, int code)
{
    if (!ferror(stdout) && fflush(stdout) == 0)
        return code;
    complain(subcommand, "cannot write to standard output: %s", strerror(errno));
    return EXIT_OWN_FAILURE;
}
