/* joule/meter/meter_lanes.c - see meter_lanes.h.
 *
 * Note: most machines have hardware for few of the sources, and a measured command may take only a
 * millisecond. So a source that cannot find hardware is not opened and gets no thread.
 */
#include "joule/meter/meter_lanes.h"

#include <string.h>
#include "base/error.h"
#include "joule/meter/engine.h"

/* --- choice of sources ---------------------------------------------------------------------------------- */

/* Returns true if `list` selects the source: "a,b" selects only a and b, "-a" all but a. Sets *out_is_named
 * if the list names the source. */
static bool is_selected(const char *list, const char *name, bool *out_is_named)
{
    *out_is_named = false;
    if (!list || !*list)
        return true;
    bool only = false, selected = false;
    size_t length = strlen(name);
    for (const char *item = list; *item;) {
        size_t n = strcspn(item, ",");
        bool minus = item[0] == '-';
        bool same = n - minus == length && strncmp(item + minus, name, length) == 0;
        if (minus && same)
            return false;
        only = only || (!minus && n > 0);
        selected = selected || (!minus && same);
        item += n + (item[n] == ',');
    }
    *out_is_named = selected;
    return !only || selected;
}

static bool is_source_name(const char *name, size_t length)
{
    for (const struct source_ops *const *ops = source_table; *ops; ops++)
        if (strlen((*ops)->name) == length && strncmp((*ops)->name, name, length) == 0)
            return true;
    return false;
}

joule_status meter_lanes_check(const char *list, joule_error *error)
{
    for (const char *item = list ? list : ""; *item;) {
        size_t n = strcspn(item, ","), minus = item[0] == '-';
        if (n > minus && !is_source_name(item + minus, n - minus))
            return error_set(error, JOULE_INVALID,
                             "unknown source \"%.*s\"; `joule devices` lists all sources", (int)(n - minus),
                             item + minus);
        item += n + (item[n] == ',');
    }
    return JOULE_OK;
}

/* --- lanes of sources ----------------------------------------------------------------------------------- */

/* Returns true if a source may find hardware, judged by its folders and its environment variable. */
static bool may_find_hardware(struct joule_host *host, const struct source_ops *ops)
{
    const char *value = ops->variable ? host->ops->env(host, ops->variable) : NULL;
    bool is_set = value && *value;
    if (!ops->folder)
        return !ops->variable || is_set;
    return is_set || host_has_any(host, ops->folder);
}

/* Adds an empty lane to the meter. Returns NULL if out of memory. */
static struct lane *add_lane(joule_meter *meter, double period_s)
{
    struct lane *lane = lane_create(meter, (int64_t)(period_s * 1e9));
    if (lane)
        meter->lanes[meter->lane_count++] = lane;
    return lane;
}

/* Adds a source to its lane: each slow source that may find hardware to a separate lane, all other sources to
 * lane 0. A source that cannot find hardware is opened only if the user names it or requests devices, to
 * report why nothing was found. Returns false if out of memory. */
static bool add_source(joule_meter *meter, const struct source_ops *ops, bool is_named, bool reads_facts)
{
    bool may_find = may_find_hardware(meter->host, ops), is_alone = ops->is_slow && may_find;
    struct lane *lane = meter->lanes[0];
    if (is_alone)
        lane = add_lane(meter, ops->period_s > 0 ? ops->period_s : meter->period_s);
    struct source *source = lane ? lane_add(lane, ops, is_named) : NULL;
    if (!source)
        return false;
    lane->is_late = is_alone && ops->is_late && !reads_facts;
    if (!may_find && !is_named && !reads_facts)
        source_set_state(source, JOULE_ABSENT, "this machine has no hardware for this source");
    return true;
}

joule_status meter_lanes_make(joule_meter *meter, const char *list, bool reads_facts, joule_error *error)
{
    if (!add_lane(meter, meter->period_s))
        return error_set(error, JOULE_NO_MEMORY, "cannot open a meter: out of memory");
    for (const struct source_ops *const *ops = source_table; *ops; ops++) {
        bool is_named, is_wanted = is_selected(list, (*ops)->name, &is_named);
        if (is_wanted && meter->lane_count < METER_MAX_LANES &&
            !add_source(meter, *ops, is_named, reads_facts))
            return error_set(error, JOULE_NO_MEMORY, "cannot open source %s: out of memory", (*ops)->name);
    }
    for (size_t i = 0; i < meter->lane_count; i++)
        meter->lanes[i]->reads_facts = reads_facts;
    return JOULE_OK;
}

/* --- start of threads ----------------------------------------------------------------------------------- */

/* Starts the thread of lane `i` if it is not running. Returns false if the thread cannot be started. */
static bool start(joule_meter *meter, size_t i)
{
    return meter->lanes[i]->has_thread || lane_start(meter->lanes[i]);
}

joule_status meter_lanes_start(joule_meter *meter, bool watches, double wait_s, joule_error *error)
{
    bool is_virtual = meter->host->ops->is_virtual, has_threads = true;
    int64_t deadline_ns = meter_now_ns(meter) + (int64_t)(wait_s * 1e9);
    for (size_t i = 1; i < meter->lane_count && !is_virtual; i++)
        has_threads = (meter->lanes[i]->is_late || start(meter, i)) && has_threads;
    /* Prompt sources are opened here: opening them takes less time than waiting for a thread. */
    for (size_t i = 0; i < (is_virtual ? meter->lane_count : 1); i++)
        lane_open_sources(meter->lanes[i]);
    if (!has_threads || (watches && !meter_watch(meter)))
        return error_set(error, JOULE_NO_MEMORY,
                         "cannot start a thread for sampling; raise the limit on processes (ulimit -u)");
    meter_lanes_wait(meter, deadline_ns);
    return JOULE_OK;
}

bool meter_lanes_wait(joule_meter *meter, int64_t deadline_ns)
{
    bool all = true;
    for (size_t i = 0; i < meter->lane_count; i++)
        all = (meter->lanes[i]->is_late || lane_wait_opened(meter->lanes[i], deadline_ns)) && all;
    return all;
}

bool meter_watch(joule_meter *meter)
{
    bool runs = true;
    pthread_mutex_lock(&meter->lock);
    for (size_t i = 0; i < meter->lane_count && !meter->host->ops->is_virtual; i++)
        if (i == 0 || meter->lanes[i]->is_late)
            runs = start(meter, i) && runs;
    pthread_mutex_unlock(&meter->lock);
    return runs;
}
