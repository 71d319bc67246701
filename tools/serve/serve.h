/* tools/serve/serve.h - what the files of `joule serve` share: one server, single-threaded, over one meter.
 *
 * Owns the structure; main.c starts and ends it, server.c speaks HTTP, answer.c knows the pages, listen.c and token.c the
 * socket and the secret.
 * Newcomers: sensors are read by the meter's threads at their own pace. A request never waits for hardware, and answers made
 * within one period of readings are the same bytes.
 */
#ifndef SERVE_H
#define SERVE_H

#include <joule/joule.h>
#include <stdint.h>
#include "listen.h"

#define SERVE "serve" /* the subcommand, as messages begin */

#define TOKEN_MOST 256

struct serve_settings {
    const char *listen, *token_file;
    bool shares_out;            /* among tenants */
    unsigned process_count;     /* told apart; 0: none */
    char token[TOKEN_MOST + 1]; /* empty: everybody may ask */
};

/* Reads the secret from the file, else from JOULE_SERVE_TOKEN, which is then forgotten. False after a message. */
bool token_load(struct serve_settings *settings);
/* Whether an Authorization header (NULL: none) has the token, in a time that does not depend on how much of it is right. */
bool token_is_given(const char *token, const char *authorization);

/* Answers until SIGINT or SIGTERM, which must be blocked in all threads. The exit code. */
int server_run(joule_meter *meter, const struct serve_settings *settings, const struct listener *listener);

#endif
