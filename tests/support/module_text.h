/* support/module_text.h - parses LLVM IR text with the installed LLVM, of any supported release.
 *
 * joulec then reads the parsed module. Note: include <cmocka.h> first. In the text, POINTER stands for a
 * pointer type of the installed LLVM. Before LLVM 15 pointers are typed: POINTER is i32*, and POINTER<type>
 * points to another type. From LLVM 17 on only opaque pointers exist. */
#ifndef SUPPORT_MODULE_TEXT_H
#define SUPPORT_MODULE_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "joulec/module/module.h"

static inline void module_text_write(FILE *file, const char *text, bool are_typed)
{
    static const char word[] = "POINTER";
    for (const char *at; (at = strstr(text, word));) {
        fprintf(file, "%.*s", (int)(at - text), text);
        text = at + strlen(word);
        const char *end = *text == '<' ? strchr(text, '>') : NULL;
        if (are_typed)
            fprintf(file, "%.*s*", end ? (int)(end - text - 1) : 3, end ? text + 1 : "i32");
        else
            fputs("ptr", file);
        text = end ? end + 1 : text;
    }
    fputs(text, file);
}

/* Reads the concatenated parts into `module`. Fails the test if they are not valid IR. */
static inline void module_text_read(const char *const *parts, size_t count, struct module *out)
{
    const struct module_build as_counted = {false, false, false};
    char path[] = "/tmp/joule-module-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    joule_error error;
    joule_status status = JOULE_FAILED;
    for (int i = 0; i < 2 && status != JOULE_OK; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        for (size_t k = 0; k < count; k++)
            module_text_write(file, parts[k], i == 0);
        fclose(file);
        status = module_read(path, &as_counted, out, &error);
    }
    remove(path);
    if (status != JOULE_OK)
        fail_msg("%s", error.message);
}

#endif
