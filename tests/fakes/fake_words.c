/* tests/fakes/fake_words.c - see fake_words.h. */
#include "fake_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *fake_words_find(const char *variable)
{
    static char text[8192];
    const char *value = getenv(variable);
    if (value == NULL || value[0] != '@')
        return value != NULL ? value : "";
    FILE *file = fopen(value + 1, "r");
    size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    text[length] = '\0';
    if (file != NULL)
        fclose(file);
    return text;
}

bool fake_words_each(const char *text, bool (*set)(void *context, const char *name, double value),
                     void *context)
{
    static const char between[] = "; \t\n";
    bool all_known = true;
    for (text += strspn(text, between); *text; text += strspn(text, between)) {
        char name[64] = "";
        size_t length = strcspn(text, "=; \t\n");
        if (length < sizeof name && text[length] == '=')
            memcpy(name, text, length);
        all_known = name[0] && set(context, name, strtod(text + length + 1, NULL)) && all_known;
        text += strcspn(text, between);
    }
    return all_known;
}
