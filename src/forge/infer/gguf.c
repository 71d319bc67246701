/* infer/gguf.c - reads GGUF files. */
#include "base/error.h"
#include "forge/infer/model_file.h"

joule_status gguf_read(struct model_file *file, const char *path, joule_error *out_error)
{
    (void)file;
    return error_set(out_error, JOULE_UNSUPPORTED, "cannot read %s: GGUF files are not supported yet", path);
}
