/* infer/safetensors_model.c - reads folders of Hugging Face. */
#include "base/error.h"
#include "forge/infer/model_file.h"

joule_status safetensors_model_read(struct model_file *file, const char *folder, joule_error *out_error)
{
    (void)file;
    return error_set(out_error, JOULE_UNSUPPORTED, "cannot read %s: folders are not supported yet", folder);
}
