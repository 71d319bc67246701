/* infer/tokenizer_open.c - opens the tokenizer in a file, whose format its first bytes show. */
#include "forge/infer/tokenizer.h"

#include <inttypes.h>
#include "base/error.h"
#include "forge/core/random_access_file.h"
#include "forge/infer/tokenizer_read.h"

joule_status tokenizer_read_file(struct arena *arena, const char *path, size_t max_size, char **out_bytes,
                                 size_t *out_size, joule_error *out_error)
{
    struct file file;
    joule_status status = file_open(&file, path, out_error);
    if (status != JOULE_OK)
        return status;
    char *bytes = NULL;
    if (file.size > max_size)
        status = error_set(out_error, JOULE_INVALID,
                           "cannot read %s: it has %" PRIu64 " bytes; the maximum is %zu", path, file.size,
                           max_size);
    else if (!(bytes = arena_alloc(arena, (size_t)file.size + 1)))
        status = error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", path);
    else
        status = file_read(&file, 0, bytes, (size_t)file.size, out_error);
    *out_bytes = bytes;
    *out_size = (size_t)file.size;
    file_close(&file);
    return status;
}
