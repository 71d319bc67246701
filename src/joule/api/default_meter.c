/* joule/api/default_meter.c - opens and stops the default meter, which functions use if their argument
 * `meter` is NULL.
 *
 * The default meter opens at first use. After fork a child opens another default meter, because threads do
 * not survive fork. At exit the meter's threads stop, but its memory is not freed: other threads may still
 * use the meter until the process ends.
 * Note: the default meter takes its options from the environment (JOULE_SOURCES, JOULE_ROOT).
 */
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "joule/api/open.h"

#define EXIT_TIMEOUT_NS 800000000LL /* how long to wait at exit for vendors' libraries */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static joule_meter *meter; /* guarded by lock */
static bool is_kept;       /* each child process opens a default meter after fork */
static atomic_bool is_due; /* this child has not opened its meter yet */
static bool is_over;       /* the library is unloading: no default meter is opened again; guarded by lock */

/* Opens the default meter and stores it in `meter`; NULL on failure. The caller holds the lock. */
static void open_default(void)
{
    joule_options options = {.struct_size = sizeof options,
                             .sources = secure_getenv("JOULE_SOURCES"),
                             .root = secure_getenv("JOULE_ROOT")};
    if (joule_open(&options, &meter, NULL) != JOULE_OK)
        meter = NULL;
}

joule_meter *meter_or_default(joule_meter *given)
{
    if (given)
        return given;
    pthread_mutex_lock(&lock);
    if (!is_over && (!meter || meter->pid != getpid()))
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

void meter_default_keep(void)
{
    is_kept = true;
    meter_or_default(NULL);
}

void meter_default_in_child(void)
{
    if (__builtin_expect(atomic_load_explicit(&is_due, memory_order_relaxed), 0) &&
        atomic_exchange(&is_due, false))
        meter_or_default(NULL);
}

joule_status meter_take(joule_meter **given)
{
    *given = meter_or_default(*given);
    if (!*given) /* the default meter could not be opened */
        return JOULE_FAILED;
    return (*given)->pid == getpid() ? JOULE_OK : JOULE_STALE;
}

/* Initialises the lock again in a child process. Another thread of the parent may have held the lock at fork,
 * and that thread does not exist in the child. */
static void renew_lock(void)
{
    pthread_mutex_init(&lock, NULL);
    atomic_store(&is_due, is_kept);
}

__attribute__((constructor)) static void at_load(void)
{
    pthread_atfork(NULL, NULL, renew_lock);
}

/* Runs after other destructors, because atexit handlers of a library, such as the report at exit, run as
 * destructors. */
__attribute__((destructor(101))) static void at_unload(void)
{
    int64_t deadline_ns = clock_now_ns() + EXIT_TIMEOUT_NS;
    pthread_mutex_lock(&lock);
    is_over = true; /* no other meter may be opened from here on */
    joule_meter *last = meter && meter->pid == getpid() ? meter : NULL;
    pthread_mutex_unlock(&lock); /* a lane's callback may use the default meter */
    for (size_t i = 0; last && i < last->lane_count; i++)
        lane_halt(last->lanes[i], deadline_ns);
}
