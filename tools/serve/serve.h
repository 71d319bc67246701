/* tools/serve/serve.h - settings and functions that the files of `joule serve` share.
 *
 * One thread answers all requests, with readings of one meter. main.c starts the server, server.c handles
 * HTTP, answer.c prints the texts, events.c sends events, auth.c and http/host_names.c decide
 * which requests are answered. http/listen.c opens the socket.
 * Note: the meter's own threads read the sensors. A request never waits for hardware, and all requests within
 * one period of readings get the same bytes.
 */
#ifndef SERVE_H
#define SERVE_H

#include <joule/joule.h>
#include <stdint.h>
#include "auth.h"
#include "common/options.h"
#include "http/host_names.h"
#include "http/listen.h"

#define SERVE "serve" /* name of the subcommand in messages */

struct serve_settings {
    const char *listen, *token_file, *auth_file, *tls_cert_file, *tls_key_file, *user;
    struct option_list allowed_hosts;
    bool has_tenants;       /* attribute energy to tenants */
    unsigned process_count; /* number of processes with their own row; 0: none */
    /* Set from the files named above. */
    struct auth *auth;        /* NULL: no access control */
    char *tls_cert, *tls_key; /* PEM texts; NULL: no TLS */
    struct host_names names;
};

/* Prints the server's address. Warns if other machines can reach the server and TLS or access control is
 * missing. */
void serve_announce(const struct listener *listener, const struct serve_settings *settings);
/* Answers until SIGINT or SIGTERM, which must be blocked in all threads. Returns the exit code. */
int server_run(joule_meter *meter, const struct serve_settings *settings, const struct listener *listener);

#endif
