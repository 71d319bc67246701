/* support/module_text.h - modules in LLVM's words, for whichever LLVM is there.
 *
 * Owns the way from text to a module that joulec has read. Newcomers: POINTER in a text stands for what this LLVM calls one; before
 * LLVM 15 pointers say what they point to, here 32-bit integers, and from 17 on they cannot.
 */
#ifndef SUPPORT_MODULE_TEXT_H
#define SUPPORT_MODULE_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "joulec/module.h"

static inline void module_text_write(FILE *file, const char *text, const char *pointer)
{
    static const char word[] = "POINTER";
    for (const char *at; (at = strstr(text, word)); text = at + strlen(word))
        fprintf(file, "%.*s%s", (int)(at - text), text, pointer);
    fputs(text, file);
}

/* All parts behind each other. Fails the test where they are no module. */
static inline void module_text_read(const char *const *parts, size_t count, struct module *out)
{
    static const char *const pointers[] = {"i32*", "ptr"};
    const struct module_build as_counted = {false, false, false};
    char path[] = "/tmp/joule-module-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    joule_error error;
    joule_status status = JOULE_FAILED;
    for (size_t i = 0; i < 2 && status != JOULE_OK; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        for (size_t k = 0; k < count; k++)
            module_text_write(file, parts[k], pointers[i]);
        fclose(file);
        status = module_read(path, &as_counted, out, &error);
    }
    remove(path);
    if (status != JOULE_OK)
        fail_msg("%s", error.message);
}

#endif
