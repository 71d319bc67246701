/* tools/forge/serve_engine.h - the thread that loads the model and uses the engine. */
#ifndef SERVE_ENGINE_H
#define SERVE_ENGINE_H

#include "serve.h"

/* Starts the thread, which later sets the server's state to SERVE_READY or SERVE_FAILED. If the thread cannot
 * be started, prints a message and returns false. */
bool serve_engine_start(struct server *server, pthread_t *out_thread);
/* Changes the state to SERVE_STOPPING or SERVE_ENDING, unless the server has failed. Any thread. */
void serve_engine_stop(struct server *server, enum serve_state state);
/* Returns the number of choices that have not ended. Any thread. */
size_t serve_engine_unfinished(struct server *server);
/* Frees model, engine and device after the thread has ended. */
void serve_engine_free(struct server *server);

#endif
