/* joule/meter/cover_choice.c - see cover_choice.h.
 *
 * Note: a zone has several views (perf, powercap, model). Only views that covered the window are candidates.
 */
#include "joule/meter/cover_choice.h"

#include <math.h>
#include <string.h>

/* A view must cover at least this part of the time that the best-covering view of its zone covers. */
#define MIN_COVERAGE 0.5
#define ACCELERATOR  3 /* tier of domains that an accelerator's driver reports */
/* A sensor stands still if it shows no energy for STILL_S seconds and for STILL_PERIODS of its own
 * periods. */
#define STILL_S       0.2
#define STILL_PERIODS 5
/* If a zone's sensor stands still, the zone's parts count as active once they use more than this many
 * resolution steps of that sensor. */
#define STILL_GRAINS  2
#define MAX_ANCESTORS 16 /* maximum depth of nested zones */

struct view {
    int32_t id;
    const struct channel *channel;
    const char *zone, *parent; /* zone and parent of the channel, or of the zone that it mirrors */
    const struct view *outer;  /* first view of the enclosing zone; NULL: none */
    bool is_part;              /* may be in the cover only if the enclosing zone is not in the cover */
    bool is_queried;           /* query has set `state` and `covered_s` */
    /* used only in the first view of a zone: the cover's decision about the zone is made */
    bool is_taken;
    joule_status state;
    double covered_s; /* seconds of the window that are covered; 0: not trusted */
};

/* The arguments and the state of one call of cover_choose. */
struct choice {
    joule_meter *meter;
    int64_t begin_ns, end_ns;
    int32_t group;
    bool without_models;
    struct cover *cover;
    struct view list[METER_MAX_CHANNELS]; /* whole devices and machines first, then parts */
    size_t whole_count, count;
};

static const joule_scope machine_scopes[] = {JOULE_SCOPE_NODE, JOULE_SCOPE_PSYS, JOULE_SCOPE_MODULE,
                                             JOULE_SCOPE_BATTERY};
#define MACHINE_SCOPES (sizeof machine_scopes / sizeof machine_scopes[0])

bool cover_can_count(const struct channel *ch)
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

bool cover_is_wanted(joule_scope scope, int32_t group)
{
    bool cpu = scope == JOULE_SCOPE_PACKAGE || scope == JOULE_SCOPE_DRAM, gpu = scope == JOULE_SCOPE_GPU;
    return group == JOULE_CPU ? cpu : group == JOULE_GPU ? gpu : cpu || gpu;
}

/* --- views ---------------------------------------------------------------------------------------------- */

/* Sets the view's state, zone and parent from its channel. Sets covered_s if the view showed energy in the
 * window. */
static void query(struct choice *c, struct view *view)
{
    const struct meter_channel *mc = &c->meter->channels[view->id];
    view->is_queried = true;
    pthread_mutex_lock(&mc->lane->lock);
    view->state = view->channel->info.state;
    if (view->channel->mirror.of) {
        view->zone = view->channel->mirror.of->zone;
        view->parent = view->channel->mirror.of->parent_zone;
    }
    bool moved = view->channel->moved;
    pthread_mutex_unlock(&mc->lane->lock);
    if (!moved)
        return;
    struct window w = meter_channel_window(c->meter, view->id, c->begin_ns, c->end_ns);
    /* A window in which the counter did not increase counts as not covered: a sensor may stand still, but a
     * machine always uses energy. */
    if (w.covered_s > 0 && w.joules.value > 0)
        view->covered_s = w.covered_s;
}

/* Adds views of whole devices and machines to the list or, if `parts` is set, views of their parts. Omits
 * hidden boards. */
static void add_views(struct choice *c, bool parts)
{
    size_t count = meter_channel_count(c->meter);
    for (size_t i = 0; i < count; i++) {
        const struct channel *ch = c->meter->channels[i].channel;
        bool is_whole = cover_can_count(ch), is_part = !is_whole && ch->mode != CHANNEL_GAUGE && *ch->zone;
        if ((parts ? !is_part || !*ch->parent_zone : !is_whole) ||
            atomic_load(&c->meter->channels[i].hidden_by))
            continue;
        struct view *view = &c->list[c->count++];
        *view = (struct view){
            .id = (int32_t)i, .channel = ch, .zone = ch->zone, .parent = ch->parent_zone, .is_part = is_part};
        if (is_whole)
            query(c, view);
    }
}

/* Joins mirrored zones. If a view mirrors another zone, all views of its zone (another interface, or the
 * model) become views of the mirrored zone. */
static void join_mirrored_zones(struct choice *c)
{
    for (size_t i = 0; i < c->whole_count; i++) {
        const struct view *mirror = &c->list[i];
        for (size_t k = 0; mirror->zone != mirror->channel->zone && k < c->whole_count; k++)
            if (strcmp(c->list[k].channel->zone, mirror->channel->zone) == 0)
                c->list[k].zone = mirror->zone;
    }
}

/* --- zones ---------------------------------------------------------------------------------------------- */

static bool is_model(const struct view *view)
{
    return view->channel->info.cls >= JOULE_CLASS_MODELLED;
}

/* Returns the first view of the zone, which represents the zone in this file; NULL: no view. Searches the
 * parts if `among_parts` is set, otherwise whole devices and machines. */
static struct view *find_zone(struct choice *c, const char *zone, bool among_parts)
{
    for (size_t i = among_parts ? c->whole_count : 0; *zone && i < (among_parts ? c->count : c->whole_count);
         i++)
        if (strcmp(c->list[i].zone, zone) == 0)
            return &c->list[i];
    return NULL;
}

/* Sets `outer` of each view. The last result is cached, because neighbours in the list often have the same
 * parent. */
static void find_outer_zones(struct choice *c)
{
    const char *parent = "";
    const struct view *outer = NULL;
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->list[i].parent, parent) != 0) {
            parent = c->list[i].parent;
            outer = find_zone(c, parent, false);
            outer = outer ? outer : find_zone(c, parent, true);
        }
        c->list[i].outer = outer;
    }
}

static bool is_first_of_zone(struct choice *c, const struct view *view)
{
    return find_zone(c, view->zone, view->is_part) == view;
}

/* Returns the zone's view that follows `view` in the list, or its first view if `view` is NULL.
 * Returns NULL after the last view. */
static struct view *next_view(struct choice *c, const struct view *zone, const struct view *view)
{
    size_t until = zone->is_part ? c->count : c->whole_count;
    for (size_t i = view ? (size_t)(view - c->list) + 1 : (size_t)(zone - c->list); i < until; i++)
        if (strcmp(c->list[i].zone, zone->zone) == 0)
            return &c->list[i];
    return NULL;
}

/* Returns the view to use for the zone: the one with the lowest rank among those with sufficient coverage
 * (MIN_COVERAGE). Returns NULL if no view covered the window. */
static const struct view *best_view(struct choice *c, const struct view *zone)
{
    double max_covered_s = 0;
    const struct view *best = NULL;
    for (struct view *v = NULL; (v = next_view(c, zone, v)) != NULL;) {
        if (!v->is_queried)
            query(c, v);
        max_covered_s = fmax(max_covered_s, v->covered_s);
    }
    for (struct view *v = NULL; max_covered_s > 0 && (v = next_view(c, zone, v)) != NULL;)
        if (v->covered_s >= MIN_COVERAGE * max_covered_s && (!best || v->channel->rank < best->channel->rank))
            best = v;
    return best;
}

/* Returns true if a sensor of the zone was found, readable or not. */
static bool has_sensor(struct choice *c, const struct view *zone)
{
    for (const struct view *v = NULL; (v = next_view(c, zone, v)) != NULL;)
        if (!is_model(v))
            return true;
    return false;
}

/* Returns true if a sensor of the zone exists but could not be read. */
static bool is_unreadable(struct choice *c, const struct view *zone)
{
    for (const struct view *v = NULL; (v = next_view(c, zone, v)) != NULL;)
        if (v->state == JOULE_DENIED || v->state == JOULE_FAILED || v->state == JOULE_STALE)
            return true;
    return false;
}

/* Returns true if hardware measures some domain of this scope and at least this tier. */
static bool has_measured(const struct choice *c, joule_scope scope, uint32_t tier)
{
    for (size_t i = 0; i < c->whole_count; i++) {
        const struct view *v = &c->list[i];
        if (v->covered_s > 0 && v->channel->info.scope == scope && v->channel->info.tier >= tier &&
            !is_model(v))
            return true;
    }
    return false;
}

/* Returns true for an accelerator that a node's controller measures, if drivers report boards too. The
 * accelerator may then be one of these boards and must not be counted twice. */
static bool repeats_boards(const struct choice *c, const struct view *zone)
{
    return zone->is_part && zone->channel->info.tier >= ACCELERATOR && zone->channel->info.device_index < 0 &&
           has_measured(c, JOULE_SCOPE_GPU, 0);
}

/* --- sensors that stand still --------------------------------------------------------------------------- */

static double seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) * 1e-9;
}

/* The time in the window in which a view showed no energy, and the energy below which its sensor shows no
 * change. */
struct standstill_view {
    int64_t begin_ns, end_ns;
    double grain_joules;
};

/* Returns true if the view showed no energy in a part of the window, for longer than STILL_S and
 * STILL_PERIODS allow. Sets *out to that part in both cases. */
static bool find_standstill(const struct choice *c, const struct view *view, struct standstill_view *out)
{
    const struct channel *ch = view->channel;
    pthread_mutex_t *lock = &c->meter->channels[view->id].lane->lock;
    pthread_mutex_lock(lock);
    bool is_counter = ch->mode == CHANNEL_COUNTER;
    double tick_s = is_counter ? ch->counter.tick_s : ch->integrator.period_s;
    double whole_s = seconds(ch->still.begin_ns, ch->still.end_ns);
    out->begin_ns = ch->still.begin_ns > c->begin_ns ? ch->still.begin_ns : c->begin_ns;
    out->end_ns = ch->still.end_ns < c->end_ns ? ch->still.end_ns : c->end_ns;
    out->grain_joules = is_counter ? counter_resolution_joules(&ch->counter) : 0;
    pthread_mutex_unlock(lock);
    return whole_s > STILL_S && whole_s > STILL_PERIODS * tick_s && out->end_ns > out->begin_ns;
}

/* Returns the joules that the view showed during the standstill. */
static double joules_shown(const struct choice *c, const struct view *view,
                           const struct standstill_view *still)
{
    const struct meter_channel *mc = &c->meter->channels[view->id];
    pthread_mutex_lock(&mc->lane->lock);
    double joules = curve_joules_shown(&mc->channel->curve, still->begin_ns, still->end_ns);
    pthread_mutex_unlock(&mc->lane->lock);
    return joules;
}

/* Returns the joules that the parts of a zone showed during the standstill. The joules of a part are those of
 * its own sensor or the sum of the parts inside it, whichever is larger. `depth` limits the recursion to
 * MAX_ANCESTORS. */
static double parts_joules(struct choice *c, const struct view *zone, const struct standstill_view *still,
                           unsigned depth)
{
    double sum = 0;
    for (size_t i = 0; i < c->count && depth < MAX_ANCESTORS; i++) {
        const struct view *part = &c->list[i];
        if (part->outer != zone || !is_first_of_zone(c, part))
            continue;
        const struct view *best = best_view(c, part);
        double own = best && !is_model(best) ? joules_shown(c, best, still) : 0;
        sum += fmax(own, parts_joules(c, part, still, depth + 1));
    }
    return sum;
}

/* Returns true if the view showed no energy while parts of its zone used some. The view's figure then lacks
 * the energy of these parts. */
static bool stood_still(struct choice *c, const struct view *zone, const struct view *view)
{
    struct standstill_view still;
    return !is_model(view) && find_standstill(c, view, &still) &&
           parts_joules(c, zone, &still, 0) > STILL_GRAINS * still.grain_joules;
}

/* --- adding zones to the cover -------------------------------------------------------------------------- */

/* Adds a view to the cover. If the cover is full, marks it as partial. */
static void take(struct choice *c, const struct view *view)
{
    struct cover *cover = c->cover;
    if (cover->count == COVER_MAX) {
        cover->is_partial = true;
        return;
    }
    cover->ids[cover->count++] = view->id;
    if (view->channel->info.cls > cover->cls)
        cover->cls = view->channel->info.cls;
}

static bool is_inside(const struct view *view, const struct view *zone)
{
    for (unsigned depth = 0; (view = view->outer) != NULL && depth < MAX_ANCESTORS; depth++)
        if (view == zone)
            return true;
    return false;
}

/* Adds the zone's view `best` to the cover. Marks all zones inside the zone as decided, because the view
 * includes their energy. */
static void take_whole(struct choice *c, const struct view *zone, const struct view *best)
{
    take(c, best);
    for (size_t i = 0; i < c->count; i++)
        if (is_inside(&c->list[i], zone))
            c->list[i].is_taken = true;
}

/* Returns true if the cover already contains a view of a zone inside this zone. */
static bool contains_counted(const struct choice *c, const struct view *zone)
{
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; c->list[i].outer && k < c->cover->count; k++)
            if (c->cover->ids[k] == c->list[i].id && is_inside(&c->list[i], zone))
                return true;
    return false;
}

static bool take_zone(struct choice *c, struct view *zone);

/* Adds the zones directly inside this zone to the cover. Returns true if any was added. */
static bool take_parts(struct choice *c, const struct view *zone)
{
    size_t before = c->cover->count;
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].outer == zone && is_first_of_zone(c, &c->list[i]))
            take_zone(c, &c->list[i]);
    return c->cover->count > before;
}

/* Records in the cover that the zone's sensor stands still. has_parts: the cover contains the zone's parts
 * instead. Later calls change nothing, because only the first zone is reported. */
static void record_still(struct choice *c, const struct view *zone, bool has_parts)
{
    if (c->cover->still_id >= 0)
        return;
    c->cover->still_id = zone->id;
    c->cover->has_parts_of_still = has_parts;
}

/* Adds the zone to the cover. If its own sensor stands still or cannot be read, adds the zones inside it
 * instead. Adds a model only if neither is possible. Returns false if the zone was decided before, or if no
 * view of it covered the window. */
static bool take_zone(struct choice *c, struct view *zone)
{
    if (zone->is_taken || repeats_boards(c, zone))
        return false;
    zone->is_taken = true;
    const struct view *best = best_view(c, zone);
    bool has_own = has_sensor(c, zone), is_measured = best && !is_model(best);
    if (is_measured && !stood_still(c, zone, best) && !contains_counted(c, zone)) {
        take_whole(c, zone, best);
        return true;
    }
    if (has_own && take_parts(c, zone)) {
        c->cover->is_partial = true;
        if (!is_unreadable(c, zone))
            record_still(c, zone, true);
        return true;
    }
    if (best && !(c->without_models && is_model(best)) && !contains_counted(c, zone))
        take_whole(c, zone, best);
    else if (is_unreadable(c, zone))
        c->cover->is_partial = true;
    return best != NULL;
}

/* Returns true if an enclosing zone is summed for the group. take_zone decides about this zone when it
 * decides about the enclosing zone. */
static bool is_inside_wanted(const struct choice *c, const struct view *zone)
{
    for (unsigned depth = 0; (zone = zone->outer) != NULL && depth < MAX_ANCESTORS; depth++)
        if (cover_is_wanted(zone->channel->info.scope, c->group))
            return true;
    return false;
}

/* --- the whole machine ---------------------------------------------------------------------------------- */

/* Adds every zone of a scope with at least this tier to the cover. A view of the zone must have covered the
 * window and not stood still. A machine may have several such zones (two superchips, two batteries). Returns
 * true if any zone was added. */
static bool take_scope(struct choice *c, joule_scope scope, uint32_t tier)
{
    size_t before = c->cover->count;
    for (size_t i = 0; i < c->whole_count; i++) {
        struct view *zone = &c->list[i];
        if (zone->channel->info.scope != scope || zone->channel->info.tier < tier || zone->is_taken ||
            !is_first_of_zone(c, zone))
            continue;
        const struct view *best = best_view(c, zone);
        if (best && !stood_still(c, zone, best))
            take_zone(c, zone);
    }
    return c->cover->count > before;
}

/* Adds parts (not whole devices) of machine-wide zones whose own sensor stands still to the cover. Visits the
 * scopes machine_scopes[from] to machine_scopes[until - 1]. If any part was added, marks the cover as partial
 * and returns true. */
static bool take_parts_of_machine(struct choice *c, size_t from, size_t until)
{
    size_t before = c->cover->count;
    for (size_t s = from; s < until; s++)
        for (size_t i = 0; i < c->whole_count; i++) {
            struct view *zone = &c->list[i];
            if (zone->channel->info.scope != machine_scopes[s] || zone->is_taken ||
                !is_first_of_zone(c, zone) || is_inside_wanted(c, zone) || is_unreadable(c, zone))
                continue;
            for (size_t k = c->whole_count; k < c->count; k++)
                if (c->list[k].outer == zone && is_first_of_zone(c, &c->list[k]) && take_zone(c, &c->list[k]))
                    record_still(c, zone, true);
        }
    bool any = c->cover->count > before;
    c->cover->is_partial |= any;
    return any;
}

/* Adds a domain that covers more than the CPUs to the cover, instead of single devices. Returns false if
 * devices must be summed. Such a domain is used if no package is measured, or if a superchip's GPU driver
 * measures only the whole module. A measured package takes precedence over other sensors of its module. */
static bool take_whole_machine(struct choice *c)
{
    if (has_measured(c, JOULE_SCOPE_MODULE, ACCELERATOR) && !has_measured(c, JOULE_SCOPE_GPU, 0))
        return take_scope(c, JOULE_SCOPE_MODULE, ACCELERATOR);
    if (has_measured(c, JOULE_SCOPE_PACKAGE, 0))
        return false;
    for (size_t s = 0; s < MACHINE_SCOPES; s++)
        if (take_scope(c, machine_scopes[s], 0)) {
            take_parts_of_machine(c, 0, s + 1);
            return true;
        }
    /* A part may contain the CPU, whose energy the model of the CPU would then add a second time. */
    c->without_models = take_parts_of_machine(c, 0, MACHINE_SCOPES);
    return false;
}

/* --- the sum of devices --------------------------------------------------------------------------------- */

/* Returns true for a package whose counter can be read but has never increased. Unlike a board, a package is
 * never off. */
static bool is_still_package(struct choice *c, const struct view *zone)
{
    struct standstill_view still;
    return zone->channel->info.scope == JOULE_SCOPE_PACKAGE && has_sensor(c, zone) && !best_view(c, zone) &&
           find_standstill(c, zone, &still);
}

/* Adds the outermost zones of the group to the cover. */
static void take_devices(struct choice *c)
{
    bool lacks_package = false;
    for (size_t i = 0; i < c->whole_count; i++) {
        struct view *zone = &c->list[i];
        if (!cover_is_wanted(zone->channel->info.scope, c->group) || !is_first_of_zone(c, zone) ||
            is_inside_wanted(c, zone))
            continue;
        if (!take_zone(c, zone) && is_still_package(c, zone)) {
            lacks_package = true;
            record_still(c, zone, false);
        }
    }
    c->cover->is_partial |= lacks_package && c->cover->count > 0;
}

/* --- order ---------------------------------------------------------------------------------------------- */

static bool comes_before(const struct channel *a, const struct channel *b)
{
    return a->info.scope != b->info.scope ? a->info.scope < b->info.scope
                                          : a->info.device_index < b->info.device_index;
}

/* Sorts CPUs before boards and lower indices first, so that the order does not depend on which
 * source answered first. */
static void sort_ids(joule_meter *meter, struct cover *cover)
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

void cover_choose(joule_meter *meter, int32_t group, int64_t begin_ns, int64_t end_ns,
                  struct cover *out_cover)
{
    struct choice c; /* 48 KiB, not cleared: add_views sets every entry of the list that is used */
    c.meter = meter;
    c.begin_ns = begin_ns;
    c.end_ns = end_ns;
    c.group = group;
    c.without_models = false;
    c.cover = out_cover;
    c.count = 0;
    add_views(&c, false);
    c.whole_count = c.count;
    join_mirrored_zones(&c);
    add_views(&c, true);
    find_outer_zones(&c);
    if (group != JOULE_TOTAL || !take_whole_machine(&c))
        take_devices(&c);
    sort_ids(meter, out_cover);
}
