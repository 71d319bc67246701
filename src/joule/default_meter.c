/* joule/default_meter.c - the meter of a process that did not open one.
 *
 * Owns its opening on first use and its closing when the library goes. After fork the child opens its own: threads do
 * not survive fork, and the parent's handle is not the child's.
 * Newcomers: JOULE_SOURCES and JOULE_ROOT stand in for joule_options here, because nobody passes any.
 */
#include <stdlib.h>
#include <unistd.h>
#include "joule/engine.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static joule_meter *meter; /* guarded by lock */

static void open_default(void)
{
    joule_options options = {
        .struct_size = sizeof options, .sources = getenv("JOULE_SOURCES"), .root = getenv("JOULE_ROOT")};
    if (joule_open(&options, &meter, NULL) != JOULE_OK)
        meter = NULL;
}

joule_meter *meter_or_default(joule_meter *given)
{
    if (given)
        return given;
    pthread_mutex_lock(&lock);
    if (!meter || meter->pid != getpid())
        open_default();
    joule_meter *result = meter;
    pthread_mutex_unlock(&lock);
    return result;
}

joule_meter *meter_default_if_open(void)
{
    pthread_mutex_lock(&lock);
    joule_meter *result = meter && meter->pid == getpid() ? meter : NULL;
    pthread_mutex_unlock(&lock);
    return result;
}

/* A thread that held the lock at fork does not exist in the child. */
static void renew_lock(void)
{
    pthread_mutex_init(&lock, NULL);
}

__attribute__((constructor)) static void at_load(void)
{
    pthread_atfork(NULL, NULL, renew_lock);
}

__attribute__((destructor)) static void at_unload(void)
{
    if (meter && meter->pid == getpid())
        joule_close(meter);
    meter = NULL;
}
