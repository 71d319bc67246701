/* Fuzz target: the settings of Hugging Face's folders, config.json. Reading must not crash or leak. Checks
 * that a failure has a message and that sizes are not negative. */
#include "base/arena.h"
#include "file.h"
#include "forge/infer/model/hugging_face.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    joule_error error = {0};
    struct hf_settings settings = {0};
    struct model_file file = {0};
    joule_status status = hf_read_config(&file, fuzz_file(data, size), &settings, &error);
    require(status == JOULE_OK || status == JOULE_INVALID || status == JOULE_UNSUPPORTED);
    require((status == JOULE_OK) == (error.message[0] == '\0'));
    require(status != JOULE_OK || (file.config.layers >= 0 && file.config.context >= 0));
    arena_free(&file.arena);
    return 0;
}
