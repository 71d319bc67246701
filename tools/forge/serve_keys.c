/* tools/forge/serve_keys.c - see serve_keys.h. */
#include "serve_keys.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/string.h"
#include "common/options.h"
#include "common/secret.h"
#include "serve.h"

#define VARIABLE "FORGE_API_KEY"
#define MAX_KEY  512 /* bytes */

/* Returns true if the key can be part of an HTTP header: visible ASCII, not empty. */
static bool is_usable(const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < length; i++)
        if (key[i] <= ' ' || key[i] > '~')
            return false;
    return length > 0 && length <= MAX_KEY;
}

static bool add_key(struct serve_keys *keys, const char *from, const char *key)
{
    if (!is_usable(key)) {
        complain(SERVE, "cannot use the key in %s: it must have 1 to %d visible characters without blanks",
                 from, MAX_KEY);
        return false;
    }
    if (keys->count == MAX_KEYS) {
        complain(SERVE, "cannot use the key in %s: there are more than %d keys", from, MAX_KEYS);
        return false;
    }
    if (!(keys->list[keys->count] = strdup(key))) {
        complain(SERVE, "out of memory");
        return false;
    }
    keys->count++;
    return true;
}

static bool add_file(struct serve_keys *keys, const char *path)
{
    char *text = secret_read(SERVE, path, "the API keys", false);
    size_t before = keys->count;
    bool is_ok = text != NULL;
    char *rest = text, *line;
    while (is_ok && (line = strsep(&rest, "\n"))) {
        line = string_trim(line);
        if (*line && *line != '#')
            is_ok = add_key(keys, path, line);
    }
    secret_free(text);
    if (is_ok && keys->count == before) {
        complain(SERVE, "cannot use %s: it contains no key", path);
        return false;
    }
    return is_ok;
}

bool serve_keys_read(struct serve_keys *keys, char *argument, const char *path)
{
    char *value = getenv(VARIABLE);
    bool is_ok = (!argument || add_key(keys, "--api-key", argument)) && (!path || add_file(keys, path)) &&
                 (!value || !*value || add_key(keys, VARIABLE, value));
    if (argument)
        explicit_bzero(argument, strlen(argument));
    if (value)
        explicit_bzero(value, strlen(value));
    unsetenv(VARIABLE);
    return is_ok;
}

void serve_keys_free(struct serve_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        secret_free(keys->list[i]);
    keys->count = 0;
}

bool serve_keys_accept(const struct serve_keys *keys, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    unsigned matches = 0;
    if (keys->count == 0)
        return true;
    if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *given = authorization + sizeof scheme - 1;
    given += strspn(given, " ");
    /* Compares all keys, so that the time does not reveal which key matched. */
    for (size_t i = 0; i < keys->count; i++)
        matches |= secret_is_equal(keys->list[i], given);
    return matches != 0;
}
