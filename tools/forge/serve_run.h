/* tools/forge/serve_run.h - runs a server until a signal. */
#ifndef SERVE_RUN_H
#define SERVE_RUN_H

#include "serve.h"

/* Serves with these settings until SIGINT or SIGTERM. where: "ADDRESS:PORT". Returns the exit code. */
int serve_run(struct serve_settings *settings, const char *where);

#endif
