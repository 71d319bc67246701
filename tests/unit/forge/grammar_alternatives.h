/* tests/unit/forge/grammar_alternatives.h - writes schemas with many alternatives. */
#ifndef FORGE_GRAMMAR_ALTERNATIVES_H
#define FORGE_GRAMMAR_ALTERNATIVES_H

#include "base/string.h"

/* Writes a schema with count * count alternatives to out [size]. */
static inline void print_alternatives(char *out, size_t size, int count)
{
    struct text text;
    text_init(&text, out, size);
    text_add(&text, "{\"anyOf\":[");
    for (int i = 0; i < count; i++) {
        text_add(&text, i ? ",{\"anyOf\":[" : "{\"anyOf\":[");
        for (int k = 0; k < count; k++)
            text_add(&text, k ? ",{\"type\":\"null\"}" : "{\"type\":\"null\"}");
        text_add(&text, "]}");
    }
    text_add(&text, "]}");
}

#endif
