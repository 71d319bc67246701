/* tools/joulec/object_name.c - see object_name.h. */
#include "object_name.h"

#include <string.h>
#include "base/string.h"

const char *object_name_beside(struct arena *arena, const char *output, const char *source,
                               const char *ending)
{
    const char *slash = strrchr(source, '/');
    const char *name = output ? output : slash ? slash + 1 : source;
    const char *dot = strrchr(name, '.'), *last = strrchr(name, '/');
    size_t stem = dot && (!last || dot > last) ? (size_t)(dot - name) : strlen(name);
    size_t size = stem + strlen(ending) + 1;
    char *result = arena_alloc(arena, size);
    if (result)
        string_print(result, size, "%.*s%s", (int)stem, name, ending);
    return result;
}

const char *object_ending(const struct arguments *a)
{
    static const char *const text[] = {"-S", NULL}, *const bitcode[] = {"-emit-llvm", NULL};
    bool is_text = arguments_last_of(a, text);
    return arguments_last_of(a, bitcode) ? (is_text ? ".ll" : ".bc") : is_text ? ".s" : ".o";
}
