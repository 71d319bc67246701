/* joule/record/record_listener.c - see record_listener.h.
 *
 * Note: listeners of a meter are never removed, but a meter may have several recorders, one after the other.
 * So the meter keeps one listener, and only the listener's recorder changes.
 */
#include "joule/record/record_listener.h"

#include <stdlib.h>
#include "joule/collector/collector.h"
#include "joule/session/session.h"

struct record_listener {
    struct meter_listener listener; /* must be the first member */
    joule_meter *meter;
    pthread_mutex_t lock;      /* guards `recorder`; taken before the recorder's own lock */
    struct recorder *recorder; /* NULL: nothing is recorded */
};

static void add_round(struct meter_listener *listener, int64_t now_ns)
{
    struct record_listener *l = (struct record_listener *)listener;
    (void)now_ns;
    pthread_mutex_lock(&l->lock);
    if (l->recorder)
        recorder_add_round(l->recorder);
    pthread_mutex_unlock(&l->lock);
}

static void add_region(void *context, int64_t begin_ns, int64_t end_ns, uint32_t tag, uint32_t thread,
                       uint32_t flags)
{
    struct record_listener *l = context;
    char name[SESSION_NAME];
    session_tag_name(l->meter->session, tag, name);
    pthread_mutex_lock(&l->lock);
    if (l->recorder)
        recorder_region(l->recorder, (uint64_t)begin_ns, (uint64_t)end_ns, name, thread, flags);
    pthread_mutex_unlock(&l->lock);
}

static void free_listener(struct meter_listener *listener)
{
    struct record_listener *l = (struct record_listener *)listener;
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static const struct meter_listener_ops record_listener_ops = {.after_round = add_round,
                                                              .free = free_listener};

/* Returns the meter's listener, created at the first call; NULL: out of memory. */
static struct record_listener *get_listener(joule_meter *meter)
{
    struct meter_listener *known = meter_find_listener(meter, &record_listener_ops);
    if (known)
        return (struct record_listener *)known;
    struct record_listener *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->listener.ops = &record_listener_ops;
    l->meter = meter;
    pthread_mutex_init(&l->lock, NULL);
    if (meter_add_listener(meter, &l->listener))
        return l;
    free_listener(&l->listener);
    return NULL;
}

bool record_listener_set(joule_meter *meter, struct recorder *recorder)
{
    struct record_listener *l = get_listener(meter);
    struct collector *collector = collector_of(meter);
    if (!l)
        return false;
    pthread_mutex_lock(&l->lock);
    l->recorder = recorder;
    pthread_mutex_unlock(&l->lock);
    if (collector)
        collector_on_region(collector, recorder ? add_region : NULL, l);
    return true;
}
