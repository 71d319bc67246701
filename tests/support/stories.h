/* support/stories.h - opens the trained model stories260K of the test data. */
#ifndef SUPPORT_STORIES_H
#define SUPPORT_STORIES_H

#include <stdlib.h>
#include <string.h>
#include "forge/infer/model/model_file.h"
#include "support/check.h"
#include "support/test_data.h"

/* Opens stories260K with its tokenizer, or skips the test. The caller closes it with model_file_close. */
static inline struct model_file *stories_open(joule_error *error)
{
    const char *found = test_data("llm/stories260K.bin");
    char *path = found ? strdup(found) : NULL;
    struct model_file *file = NULL;
    if (!path)
        skip();
    assert_ok(model_file_open(path, test_data("llm/tok512.bin"), &file, error), error);
    free(path);
    return file;
}

#endif
