/* joule/meter/cover.c - which domains make up a total.
 *
 * Owns the rules of meter_cover: outermost domains, one view for each zone, nothing twice, nothing that never moved.
 * It reads channels under their lanes' locks and keeps no state. That two zones are one is found in mirror.h.
 * Newcomers: a zone has several views (perf, powercap, model); the choice falls among those that saw the window.
 */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/meter/engine.h"
#include "joule/meter/meter_lanes.h"
#include "joule/session/session.h"

/* A view must have seen at least this part of what the best-seeing view of its zone saw. */
#define ENOUGH_COVERAGE 0.5
#define ACCELERATOR     3 /* tier of what an accelerator's driver says */

struct view {
    int32_t id;
    const struct channel *channel;
    const char *zone; /* the channel's, or the one that it was found to mirror */
    joule_status state;
    double covered_s; /* of the window; 0: not trusted */
};

struct views {
    struct view list[METER_MAX_CHANNELS];
    size_t count;
};

/* Parts of something that is counted whole never decide a total, and there may be hundreds of them. */
static bool can_count(const struct channel *ch)
{
    switch (ch->info.scope) {
    case JOULE_SCOPE_PACKAGE:
    case JOULE_SCOPE_DRAM:
    case JOULE_SCOPE_GPU:
    case JOULE_SCOPE_PSYS:
    case JOULE_SCOPE_MODULE:
    case JOULE_SCOPE_NODE:
    case JOULE_SCOPE_BATTERY:
        return ch->mode != CHANNEL_GAUGE && ch->zone[0] != '\0';
    default:
        return false;
    }
}

static void look(joule_meter *meter, int64_t begin_ns, int64_t end_ns, struct views *out)
{
    size_t count = meter_channel_count(meter);
    out->count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct channel *ch = meter->channels[i].channel;
        if (!can_count(ch) || atomic_load(&meter->channels[i].hidden_by))
            continue;
        struct view *view = &out->list[out->count++];
        *view = (struct view){.id = (int32_t)i, .channel = ch, .zone = ch->zone};
        pthread_mutex_lock(&meter->channels[i].lane->lock);
        view->state = ch->info.state;
        if (ch->mirror.of)
            view->zone = ch->mirror.of->zone;
        bool moved = ch->moved;
        pthread_mutex_unlock(&meter->channels[i].lane->lock);
        if (!moved)
            continue;
        struct window w = meter_channel_window(meter, view->id, begin_ns, end_ns);
        /* No rise over the window is no knowledge: sensors stand still, machines do not. */
        if (w.covered_s > 0 && w.joules.value > 0)
            view->covered_s = w.covered_s;
    }
}

/* Other views of a mirrored zone, another way of reading it or the model, go with it. */
static void join_mirrored_zones(struct views *views)
{
    for (size_t i = 0; i < views->count; i++) {
        const struct view *mirror = &views->list[i];
        for (size_t k = 0; mirror->zone != mirror->channel->zone && k < views->count; k++)
            if (strcmp(views->list[k].channel->zone, mirror->channel->zone) == 0)
                views->list[k].zone = mirror->zone;
    }
}

/* The view of the zone that counts; NULL when none saw the window. */
static const struct view *best_view(const struct views *views, const char *zone)
{
    double most_s = 0;
    for (size_t i = 0; i < views->count; i++)
        if (strcmp(views->list[i].zone, zone) == 0)
            most_s = fmax(most_s, views->list[i].covered_s);
    const struct view *best = NULL;
    for (size_t i = 0; i < views->count; i++) {
        const struct view *v = &views->list[i];
        if (strcmp(v->zone, zone) != 0 || v->covered_s <= 0 || v->covered_s < ENOUGH_COVERAGE * most_s)
            continue;
        if (!best || v->channel->rank < best->channel->rank)
            best = v;
    }
    return best;
}

static bool is_first_of_zone(const struct views *views, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(views->list[k].zone, views->list[i].zone) == 0)
            return false;
    return true;
}

static void take(struct cover *cover, const struct view *view)
{
    if (cover->count == COVER_MAX) {
        cover->is_partial = true;
        return;
    }
    cover->ids[cover->count++] = view->id;
    if (view->channel->info.cls > cover->cls)
        cover->cls = view->channel->info.cls;
}

static bool is_cpu_scope(joule_scope scope)
{
    return scope == JOULE_SCOPE_PACKAGE || scope == JOULE_SCOPE_DRAM;
}

static bool is_wanted(joule_scope scope, int32_t group)
{
    bool cpu = is_cpu_scope(scope), gpu = scope == JOULE_SCOPE_GPU;
    return group == JOULE_CPU ? cpu : group == JOULE_GPU ? gpu : cpu || gpu;
}

/* True when a hardware figure, counted or sampled, exists for some domain of this scope and at least this tier. */
static bool has_measured(const struct views *views, joule_scope scope, uint32_t tier)
{
    for (size_t i = 0; i < views->count; i++) {
        const struct view *v = &views->list[i];
        if (v->covered_s > 0 && v->channel->info.scope == scope && v->channel->info.tier >= tier &&
            v->channel->info.cls < JOULE_CLASS_MODELLED)
            return true;
    }
    return false;
}

/* Takes every zone of a scope (two superchips, two batteries) and at least this tier; false when none is trusted. */
static bool take_scope(const struct views *views, joule_scope scope, uint32_t tier, struct cover *cover)
{
    size_t before = cover->count;
    for (size_t i = 0; i < views->count; i++) {
        const struct channel *ch = views->list[i].channel;
        if (ch->info.scope != scope || ch->info.tier < tier || !is_first_of_zone(views, i))
            continue;
        const struct view *best = best_view(views, views->list[i].zone);
        if (best)
            take(cover, best);
    }
    return cover->count > before;
}

/* Domains that cover CPUs and more stand alone: where no package is measured, and for a superchip whose GPU's meter is
 * the module's. A board's meter of the module is another view of that one, and never beats the socket's own. */
static bool take_whole_machine(const struct views *views, struct cover *cover)
{
    if (has_measured(views, JOULE_SCOPE_MODULE, ACCELERATOR) && !has_measured(views, JOULE_SCOPE_GPU, 0))
        return take_scope(views, JOULE_SCOPE_MODULE, ACCELERATOR, cover);
    if (has_measured(views, JOULE_SCOPE_PACKAGE, 0))
        return false;
    return take_scope(views, JOULE_SCOPE_NODE, 0, cover) || take_scope(views, JOULE_SCOPE_PSYS, 0, cover) ||
           take_scope(views, JOULE_SCOPE_MODULE, 0, cover) ||
           take_scope(views, JOULE_SCOPE_BATTERY, 0, cover);
}

/* A zone without a trusted view although somebody could have read it. */
static bool is_unreadable(const struct views *views, const char *zone)
{
    for (size_t i = 0; i < views->count; i++) {
        const struct view *v = &views->list[i];
        if (strcmp(v->zone, zone) == 0 &&
            (v->state == JOULE_DENIED || v->state == JOULE_FAILED || v->state == JOULE_STALE))
            return true;
    }
    return false;
}

/* A board inside a package that counts (or the other way round) is not counted again. */
static bool is_inside_counted(const struct views *views, const struct channel *ch, int32_t group)
{
    if (!ch->parent_zone[0] || !is_wanted(JOULE_SCOPE_PACKAGE, group))
        return false;
    const struct view *outer = best_view(views, ch->parent_zone);
    return outer && is_wanted(outer->channel->info.scope, group);
}

static void choose(const struct views *views, int32_t group, struct cover *cover)
{
    if (group == JOULE_TOTAL && take_whole_machine(views, cover))
        return;
    for (size_t i = 0; i < views->count; i++) {
        const struct channel *ch = views->list[i].channel;
        if (!is_wanted(ch->info.scope, group) || !is_first_of_zone(views, i))
            continue;
        if (is_inside_counted(views, ch, group))
            continue;
        const struct view *best = best_view(views, views->list[i].zone);
        if (best)
            take(cover, best);
        else if (is_unreadable(views, views->list[i].zone))
            cover->is_partial = true;
    }
}

static bool comes_before(const struct channel *a, const struct channel *b)
{
    return a->info.scope != b->info.scope ? a->info.scope < b->info.scope
                                          : a->info.device_index < b->info.device_index;
}

/* CPUs before boards, the first before the second, however soon each source answered. */
static void put_in_order(joule_meter *meter, struct cover *cover)
{
    for (size_t i = 1; i < cover->count; i++) {
        int32_t id = cover->ids[i];
        size_t k = i;
        for (; k > 0 && comes_before(meter->channels[id].channel, meter->channels[cover->ids[k - 1]].channel);
             k--)
            cover->ids[k] = cover->ids[k - 1];
        cover->ids[k] = id;
    }
}

void meter_cover(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns,
                 struct cover *out_cover)
{
    *out_cover = (struct cover){0};
    size_t count = meter_channel_count(meter);
    if (domain >= 0) {
        if ((size_t)domain < count && meter->channels[domain].channel->mode != CHANNEL_GAUGE) {
            out_cover->ids[out_cover->count++] = domain;
            out_cover->cls = meter->channels[domain].channel->info.cls;
        }
        return;
    }
    struct views views; /* 40 KiB that need no clearing: look() sets what it counts */
    look(meter, begin_ns, end_ns, &views);
    join_mirrored_zones(&views);
    choose(&views, domain, out_cover);
    put_in_order(meter, out_cover);
}

static joule_status state_of(const struct meter_channel *mc)
{
    pthread_mutex_lock(&mc->lane->lock);
    joule_status state = mc->channel->info.state;
    pthread_mutex_unlock(&mc->lane->lock);
    return state == JOULE_OK ? JOULE_PENDING : state;
}

joule_status meter_why_unknown(joule_meter *meter, int32_t domain)
{
    if (domain >= 0)
        return state_of(&meter->channels[domain]);
    if (meter->is_client || !meter_lanes_wait(meter, 0))
        return JOULE_PENDING;
    joule_status why = JOULE_ABSENT;
    size_t count = meter_channel_count(meter);
    for (size_t i = 0; i < count && why != JOULE_PENDING; i++) {
        const struct channel *ch = meter->channels[i].channel;
        if (can_count(ch) && (domain == JOULE_TOTAL || is_wanted(ch->info.scope, domain)))
            why = state_of(&meter->channels[i]);
    }
    return why;
}

struct window meter_cover_window(joule_meter *meter, const struct cover *cover, int64_t begin_ns,
                                 int64_t end_ns)
{
    struct window sum = {.joules = estimate_zero(),
                         .is_final = true,
                         .length_s = (double)(end_ns - begin_ns) * 1e-9,
                         .covered_s = INFINITY};
    for (size_t i = 0; i < cover->count; i++) {
        struct window w = meter_channel_window(meter, cover->ids[i], begin_ns, end_ns);
        sum.joules = estimate_add(sum.joules, 1, &w.joules);
        sum.covered_s = fmin(sum.covered_s, w.covered_s);
        sum.is_final = sum.is_final && w.is_final;
    }
    if (cover->count == 0 || isnan(sum.joules.value)) {
        sum.joules = estimate_unknown();
        sum.covered_s = 0;
        sum.is_final = false;
    }
    return sum;
}

struct window meter_window(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns)
{
    if (meter->is_client)
        return session_window(meter->session, domain, begin_ns, end_ns);
    struct cover cover;
    meter_cover(meter, domain, begin_ns, end_ns, &cover);
    return meter_cover_window(meter, &cover, begin_ns, end_ns);
}

static struct window client_energy(joule_meter *meter, int32_t domain)
{
    pthread_mutex_lock(&meter->lock);
    struct window w = session_energy(meter->session, domain, meter->begin_ns, meter->client_base_joules);
    pthread_mutex_unlock(&meter->lock);
    return w;
}

struct window meter_energy(joule_meter *meter, int32_t domain)
{
    if (meter->is_client)
        return client_energy(meter, domain);
    struct cover cover;
    meter_cover(meter, domain, meter->begin_ns, meter_now_ns(meter), &cover);
    return meter_cover_window(meter, &cover, meter->begin_ns, METER_LAST_TICK);
}

static bool has_risen(const struct meter_channel *mc)
{
    pthread_mutex_lock(&mc->lane->lock);
    bool moved = mc->channel->moved;
    pthread_mutex_unlock(&mc->lane->lock);
    return moved;
}

static bool repeats_another(const struct meter_channel *mc)
{
    pthread_mutex_lock(&mc->lane->lock);
    bool repeats = mc->channel->mirror.of != NULL;
    pthread_mutex_unlock(&mc->lane->lock);
    return repeats;
}

/* The best-ranked view of channel i's zone that has risen is channel i itself. */
static bool is_best_part(joule_meter *meter, size_t i, size_t count)
{
    const struct channel *ch = meter->channels[i].channel;
    if (ch->mode == CHANNEL_GAUGE || !has_risen(&meter->channels[i]) || repeats_another(&meter->channels[i]))
        return false;
    for (size_t k = 0; k < count; k++) {
        const struct channel *other = meter->channels[k].channel;
        if (k != i && strcmp(other->zone, ch->zone) == 0 &&
            (other->rank < ch->rank || (other->rank == ch->rank && k < i)) && has_risen(&meter->channels[k]))
            return false;
    }
    return true;
}

struct window meter_rest_window(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns,
                                size_t *out_parts)
{
    struct window rest = meter_channel_window(meter, domain, begin_ns, end_ns);
    const char *zone = meter->channels[domain].channel->zone;
    size_t count = meter_channel_count(meter);
    *out_parts = 0;
    for (size_t i = 0; i < count && zone[0]; i++) {
        if (strcmp(meter->channels[i].channel->parent_zone, zone) != 0 || !is_best_part(meter, i, count))
            continue;
        struct window part = meter_channel_window(meter, (int32_t)i, begin_ns, end_ns);
        rest.joules = estimate_add(rest.joules, -1, &part.joules);
        rest.covered_s = fmin(rest.covered_s, part.covered_s);
        rest.is_final = rest.is_final && part.is_final;
        ++*out_parts;
    }
    if (*out_parts == 0)
        rest.joules = estimate_unknown();
    return rest;
}

int64_t meter_cover_horizon_ns(joule_meter *meter, const struct cover *cover)
{
    int64_t horizon_ns = cover->count ? INT64_MAX : 0;
    for (size_t i = 0; i < cover->count; i++) {
        const struct meter_channel *mc = &meter->channels[cover->ids[i]];
        pthread_mutex_lock(&mc->lane->lock);
        int64_t last_ns = curve_last_ns(&mc->channel->curve);
        pthread_mutex_unlock(&mc->lane->lock);
        if (last_ns < horizon_ns)
            horizon_ns = last_ns;
    }
    return horizon_ns;
}

void meter_cover_name(joule_meter *meter, const struct cover *cover, char *out_name, size_t size)
{
    struct text text;
    text_init(&text, out_name, size);
    for (size_t i = 0; i < cover->count; i++) {
        text_add(&text, i ? " + " : "");
        text_add(&text, meter->channels[cover->ids[i]].channel->info.name);
    }
    if (cover->is_partial)
        text_add(&text, cover->count ? " (partial)" : "nothing readable");
}
