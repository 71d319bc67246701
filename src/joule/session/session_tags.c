/* joule/session/session_tags.c - maps the names of tags to numbers that all processes of a session share, and
 * stores the tags' budgets.
 *
 * A process first writes a name into a new entry of the table. One atomic exchange then publishes the entry
 * in a hash index. So a process that is killed in between leaves only an unused entry.
 * Note: no name is ever removed. Another program may have written any values into the mapping, so all values
 * are checked.
 */
#include <math.h>
#include <string.h>
#include "base/hash.h"
#include "joule/curve/estimate.h"
#include "joule/session/session.h"

/* Copies the name. If it is too long, truncates it between two UTF-8 characters. */
static void cut_name(char out[SESSION_NAME], const char *name)
{
    size_t length = strnlen(name, SESSION_NAME);
    if (length == SESSION_NAME) {
        length--;
        while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
            length--;
    }
    memset(out, 0, SESSION_NAME);
    memcpy(out, name, length);
}

static uint32_t hash(const char name[SESSION_NAME])
{
    uint64_t h = hash_bytes(HASH_START, name, strnlen(name, SESSION_NAME));
    return (uint32_t)(h ^ h >> 32);
}

/* Stores the name in a new entry of the table and returns its tag. Returns TAG_OTHER if no entry or no memory
 * is left. */
static uint32_t store_name(struct session_map *map, const char name[SESSION_NAME])
{
    uint32_t tag = atomic_load(&map->tag_count);
    do {
        if (tag == TAG_OTHER || tag >= SESSION_TAGS)
            return TAG_OTHER;
    } while (!atomic_compare_exchange_weak(&map->tag_count, &tag, tag + 1));
    if (!session_populate(map->tag_names[tag], SESSION_NAME))
        return TAG_OTHER;
    memcpy(map->tag_names[tag], name, SESSION_NAME);
    return tag;
}

/* Returns true if the tag has this name. */
static bool is_tag(const struct session_map *map, uint32_t tag, const char name[SESSION_NAME])
{
    return tag < SESSION_TAGS && strncmp(map->tag_names[tag], name, SESSION_NAME) == 0;
}

/* Returns the tag of a name. Adds the name if it has no tag yet. Returns TAG_OTHER if the table is full. */
static uint32_t find_or_add(struct session_map *map, const char *name)
{
    char cut[SESSION_NAME];
    cut_name(cut, name);
    uint32_t start = hash(cut), stored = TAG_OTHER;
    for (uint32_t i = 0; i < SESSION_TAG_INDEX; i++) {
        _Atomic uint32_t *place = &map->tag_index[(start + i) % SESSION_TAG_INDEX];
        uint32_t tag = atomic_load_explicit(place, memory_order_acquire);
        if (tag == 0) {
            if (stored == TAG_OTHER)
                stored = store_name(map, cut);
            if (stored == TAG_OTHER || atomic_compare_exchange_strong(place, &tag, stored))
                return stored;
        }
        if (is_tag(map, tag, cut)) /* also true if another thread has added the name meanwhile */
            return tag;
    }
    return TAG_OTHER;
}

uint32_t session_tag(struct session *session, const char *name)
{
    struct session_map *map = session_map(session);
    if (!map || !name || !name[0])
        return TAG_OTHER;
    uint32_t tag = find_or_add(map, name);
    if (tag == TAG_OTHER)
        atomic_fetch_add(&map->unnamed_tags, 1);
    return tag;
}

void session_tag_name(struct session *session, uint32_t tag, char out_name[SESSION_NAME])
{
    struct session_map *map = session_map(session);
    memset(out_name, 0, SESSION_NAME);
    if (map && tag != TAG_OTHER && tag < SESSION_TAGS && tag < atomic_load(&map->tag_count))
        strncpy(out_name, map->tag_names[tag], SESSION_NAME - 1);
    if (!out_name[0])
        strcpy(out_name, "(other)");
}

/* Returns the limits of a tag and allocates their memory. Returns NULL if out of memory. */
static struct tag_limits *limits_to_set(struct session *session, uint32_t tag)
{
    struct session_map *map = session_map(session);
    if (!map || tag >= SESSION_TAGS || !session_populate(map->tag_limits, sizeof map->tag_limits))
        return NULL;
    atomic_store(&map->has_budgets, 1);
    return &map->tag_limits[tag];
}

bool session_add_budget(struct session *session, uint32_t tag, double joules)
{
    struct tag_limits *limits = limits_to_set(session, tag);
    double sum = limits ? atomic_load(&limits->joules) : 0;
    while (limits && !atomic_compare_exchange_weak(&limits->joules, &sum, sum + joules))
        ;
    return limits != NULL;
}

bool session_set_call_budget(struct session *session, uint32_t tag, double joules)
{
    struct tag_limits *limits = limits_to_set(session, tag);
    if (limits)
        atomic_store(&limits->call_joules, joules);
    return limits != NULL;
}

bool session_set_expected(struct session *session, uint32_t tag, joule_quantity joules)
{
    struct tag_limits *limits = limits_to_set(session, tag);
    if (limits) {
        atomic_store(&limits->expected.low, joules.low);
        atomic_store(&limits->expected.high, joules.high);
        atomic_store(&limits->expected.cls, joules.cls);
        atomic_store(&limits->expected.joules, joules.value);
    }
    return limits != NULL;
}

/* Returns the limits of a tag, or NULL if no limit was ever set. */
static struct tag_limits *limits_to_read(struct session *session, uint32_t tag)
{
    struct session_map *map = session_map(session);
    bool is_known = map && tag < SESSION_TAGS && atomic_load(&map->has_budgets);
    return is_known ? &map->tag_limits[tag] : NULL;
}

#define MAX_LIMIT 1e15 /* joules; libjoule writes no larger value */

/* Returns a positive limit, or NaN if there is no limit or the limit is implausible. */
static double read_limit(_Atomic double *limit)
{
    double value = atomic_load(limit);
    return value > 0 && value < MAX_LIMIT ? value : NAN;
}

double session_get_budget(struct session *session, uint32_t tag)
{
    struct tag_limits *limits = limits_to_read(session, tag);
    return limits ? read_limit(&limits->joules) : NAN;
}

double session_get_call_budget(struct session *session, uint32_t tag)
{
    struct tag_limits *limits = limits_to_read(session, tag);
    return limits ? read_limit(&limits->call_joules) : NAN;
}

joule_quantity session_get_expected(struct session *session, uint32_t tag)
{
    struct tag_limits *limits = limits_to_read(session, tag);
    double joules = limits ? read_limit(&limits->expected.joules) : NAN;
    if (isnan(joules))
        return quantity_unknown();
    uint32_t cls = atomic_load(&limits->expected.cls);
    return (joule_quantity){.value = joules,
                            .low = fmax(0, fmin(joules, atomic_load(&limits->expected.low))),
                            .high = fmax(joules, atomic_load(&limits->expected.high)),
                            .cls = cls == JOULE_CLASS_MODELLED ? JOULE_CLASS_MODELLED : JOULE_CLASS_ASSUMED};
}

#define MAX_STAMP_SECONDS 1e-3

void session_set_timestamp_seconds(struct session *session, double seconds)
{
    struct session_map *map = session_map(session);
    double known = map ? atomic_load(&map->stamp_seconds) : 0;
    while (map && seconds > 0 && (known == 0 || seconds < known) &&
           !atomic_compare_exchange_weak(&map->stamp_seconds, &known, seconds))
        ;
}

double session_timestamp_seconds(struct session *session)
{
    struct session_map *map = session_map(session);
    double seconds = map ? read_limit(&map->stamp_seconds) : NAN;
    return seconds < MAX_STAMP_SECONDS ? seconds : NAN;
}
