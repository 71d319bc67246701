/* ir/program_file.c - writes and reads programs in files; see <forge/program.h>.
 *
 * Note: a file is read into memory, not mapped, because another process could change the mapped bytes after
 * the check.
 */
#include <stdlib.h>
#include "base/error.h"
#include "forge/core/random_access_file.h"
#include "forge/ir/program.h"

joule_status forge_program_write(const forge_program *program, const char *path, joule_error *out_error)
{
    struct draft draft;
    joule_status status = draft_begin(&draft, path, out_error);
    draft_write(&draft, program, program->size_bytes);
    return draft_end(&draft, status);
}

static joule_status read_program(const struct file *file, forge_program **out_program, joule_error *error)
{
    if (file->size < sizeof(forge_program) || file->size % PROGRAM_ALIGNMENT != 0)
        return error_set(error, JOULE_INVALID, "%s is not a program, or is incomplete", file->path);
    forge_program *program = aligned_alloc(PROGRAM_ALIGNMENT, (size_t)file->size);
    if (!program)
        return error_set(error, JOULE_NO_MEMORY, "cannot allocate %llu bytes for %s: out of memory",
                         (unsigned long long)file->size, file->path);
    joule_error reason;
    joule_status status = file_read(file, 0, program, (size_t)file->size, error);
    if (status == JOULE_OK && (status = program_check(program, (size_t)file->size, &reason)) != JOULE_OK)
        error_set(error, status, "%s: %s", file->path, reason.message);
    if (status == JOULE_OK)
        *out_program = program;
    else
        free(program);
    return status;
}

joule_status forge_program_read(const char *path, forge_program **out_program, joule_error *out_error)
{
    struct file file;
    joule_status status = file_open(&file, path, out_error);
    if (status != JOULE_OK)
        return status;
    status = read_program(&file, out_program, out_error);
    file_close(&file);
    return status;
}
