/* bench/sweep.c - see sweep.h. */
#include "sweep.h"

#include <stdbool.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"

static bool is_name(const char *text, size_t length)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    return length > 0 && strspn(text, allowed) == length;
}

joule_status sweep_parse(struct arena *arena, const char *text, struct sweep *out, joule_error *out_error)
{
    const char *equals = strchr(text, '=');
    *out = (struct sweep){0};
    if (!equals || !is_name(text, (size_t)(equals - text)))
        return error_set(out_error, JOULE_INVALID, "--sweep takes NAME=VALUE,VALUE..., not '%s'", text);
    out->name = arena_copy(arena, text, (size_t)(equals - text));
    bool has_memory = out->name;
    for (const char *at = equals + 1; has_memory; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0)
            return error_set(out_error, JOULE_INVALID, "--sweep '%s' has an empty value", text);
        if (out->count == SWEEP_MAX_VALUES)
            return error_set(out_error, JOULE_INVALID, "--sweep %s has more than %d values", out->name,
                             SWEEP_MAX_VALUES);
        out->values[out->count] = arena_copy(arena, at, length);
        has_memory = out->values[out->count++];
        at += length;
        if (!*at)
            break;
    }
    return has_memory ? JOULE_OK
                      : error_set(out_error, JOULE_NO_MEMORY, "cannot read --sweep: out of memory");
}

/* Returns the sweep whose {NAME} begins at `at`; `count`: none. */
static size_t find_name(const char *at, const struct sweep *sweeps, size_t count)
{
    size_t i = 0;
    for (; i < count; i++) {
        size_t length = strlen(sweeps[i].name);
        if (at[0] == '{' && strncmp(at + 1, sweeps[i].name, length) == 0 && at[1 + length] == '}')
            break;
    }
    return i;
}

/* Appends the text with replaced names. */
static void replace(struct text *out, const char *text, const struct sweep *sweeps, const size_t *chosen,
                    size_t count)
{
    for (const char *at = text; *at;) {
        size_t i = find_name(at, sweeps, count);
        if (i < count)
            text_add(out, sweeps[i].values[chosen[i]]);
        else
            text_add_bytes(out, at, 1);
        at += i < count ? strlen(sweeps[i].name) + 2 : 1;
    }
}

char *sweep_replace(struct arena *arena, const char *text, const struct sweep *sweeps, const size_t *chosen,
                    size_t count)
{
    struct text out;
    text_init(&out, NULL, 0);
    replace(&out, text, sweeps, chosen, count);
    size_t size = out.length + 1;
    char *replaced = arena_alloc(arena, size);
    text_init(&out, replaced, replaced ? size : 0);
    replace(&out, text, sweeps, chosen, count);
    return replaced;
}
