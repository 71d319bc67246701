/* tests/unit/forge/gguf_trial.h - writes small GGUF files, and checks that they are opened or refused. */
#ifndef FORGE_GGUF_TRIAL_H
#define FORGE_GGUF_TRIAL_H

#include <string.h>
#include "forge/infer/model/model_file.h"
#include "support/check.h"
#include "support/gguf_builder.h"
#include "support/scratch.h"

static joule_error error;

/* Writes the file, and opens it. */
static inline struct model_file *open_built(struct gguf_builder *b)
{
    struct model_file *file = NULL;
    assert_true(gguf_finish(b, scratch_path));
    assert_ok(model_file_open(scratch_path, NULL, &file, &error), &error);
    return file;
}

/* Writes the file, and checks that it is refused with this status. part: part of the message. */
static inline void refuse_built(struct gguf_builder *b, joule_status status, const char *part)
{
    struct model_file *file = NULL;
    memset(&error, 0, sizeof error);
    assert_true(gguf_finish(b, scratch_path));
    joule_status result = model_file_open(scratch_path, NULL, &file, &error);
    if (result != status || !strstr(error.message, part))
        fail_msg("status %d, not %d; '%s' is not in '%s'", result, status, part, error.message);
    assert_null(file);
    assert_contains(error.message, scratch_path);
}

/* Begins a file with the keys of the small model. left_out: the name of the key or tensor that is not
 * written; NULL: none. */
static inline void begin(struct gguf_builder *b, const char *left_out)
{
    gguf_build(b, 3, left_out);
    gguf_add_small_keys(b);
}

#endif
