/* tools/forge/serve_keys.h - the API keys that a server accepts. */
#ifndef SERVE_KEYS_H
#define SERVE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#define MAX_KEYS 256

/* A list of keys. Initialise with zeros. */
struct serve_keys {
    char *list[MAX_KEYS];
    size_t count;
};

/* Reads keys. argument: the value of --api-key; it is erased, so that other users can no longer read it in
 * the list of processes. path: a file with one key per line. Both may be NULL. The environment variable
 * FORGE_API_KEY may contain another key; it is removed. If this fails, prints a message and returns false.
 * The caller frees the keys with serve_keys_free. */
bool serve_keys_read(struct serve_keys *keys, char *argument, const char *path);
/* Erases and frees the keys. */
void serve_keys_free(struct serve_keys *keys);
/* Returns true if there are no keys, or if an Authorization header contains one of them as a bearer token.
 * authorization NULL: the request has no such header. The time depends only on the length of the header
 * and the number of keys. */
bool serve_keys_accept(const struct serve_keys *keys, const char *authorization);

#endif
