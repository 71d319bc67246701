/* joule/report/collect_advice.c - chooses the hint of a report: why a figure is unknown, modelled or
 * partial. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <joule/quantity.h>
#include "joule/meter/cover_choice.h"
#include "joule/report/collect.h"

const char *collect_copy(struct report *report, const char *string)
{
    const char *result = arena_copy(&report->arena, string, strlen(string));
    return result ? result : "";
}

/* --- sensors without access ----------------------------------------------------------------------------- */

static bool is_whole_device(joule_scope scope)
{
    return scope == JOULE_SCOPE_PACKAGE || scope == JOULE_SCOPE_DRAM || scope == JOULE_SCOPE_GPU;
}

bool collect_is_unreadable(const struct collection *c, size_t domain)
{
    const struct meter_channel *mc = &c->meter->channels[domain];
    pthread_mutex_lock(&mc->lane->lock);
    joule_status state = mc->channel->info.state;
    pthread_mutex_unlock(&mc->lane->lock);
    return mc->channel->mode != CHANNEL_GAUGE && is_whole_device(mc->channel->info.scope) &&
           (state == JOULE_DENIED || state == JOULE_FAILED || state == JOULE_STALE);
}

/* Returns the remedy of a sensor that exists but cannot be read; NULL: none. Prefers packages, because they
 * use most of the energy. */
static const char *remedy_of_refused(const struct collection *c)
{
    const char *found = NULL;
    for (size_t i = 0; i < meter_channel_count(c->meter); i++) {
        const struct channel *ch = c->meter->channels[i].channel;
        if (!collect_is_unreadable(c, i) || !ch->info.remedy[0])
            continue;
        if (ch->info.scope == JOULE_SCOPE_PACKAGE)
            return ch->info.remedy;
        found = found ? found : ch->info.remedy;
    }
    return found;
}

/* Returns true if the lane has opened its sources. Before that, its thread still writes their states and
 * remedies. */
static bool is_opened(struct lane *lane)
{
    return lane_wait_opened(lane, 0);
}

/* Returns the remedy of the first source that was denied or failed; NULL: none. */
static const char *remedy_of_source(const struct collection *c)
{
    for (size_t l = 0; l < c->meter->lane_count; l++)
        for (size_t s = 0; is_opened(c->meter->lanes[l]) && s < c->meter->lanes[l]->source_count; s++) {
            const struct source *source = c->meter->lanes[l]->sources[s];
            if ((source->state == JOULE_DENIED || source->state == JOULE_FAILED) && source->remedy[0])
                return source->remedy;
        }
    return NULL;
}

/* --- sensors that answer too late or too rarely --------------------------------------------------------- */

const char *collect_late_source(const struct collection *c)
{
    for (size_t l = 0; l < c->meter->lane_count; l++)
        if (!c->meter->lanes[l]->is_late && !is_opened(c->meter->lanes[l]))
            return c->meter->lanes[l]->sources[0]->ops->name;
    return NULL;
}

/* Returns a hint about a source that has not answered yet; NULL: none. */
static const char *advice_of_late_source(const struct collection *c)
{
    char advice[128];
    const char *name = collect_late_source(c);
    snprintf(advice, sizeof advice, "%s has not answered yet: the total excludes its energy",
             name ? name : "");
    return name ? collect_copy(c->report, advice) : NULL;
}

/* Returns true if a sensor can be read, but has too few new values to measure this window. Sets *out_period_s
 * to its update period in seconds. */
static bool is_too_seldom(const struct collection *c, size_t domain, double *out_period_s)
{
    const struct meter_channel *mc = &c->meter->channels[domain];
    const struct channel *ch = mc->channel;
    if (!cover_can_count(ch) || ch->info.cls >= JOULE_CLASS_MODELLED || atomic_load(&mc->hidden_by))
        return false;
    struct window w = meter_channel_window(c->meter, (int32_t)domain, c->begin_ns, c->end_ns);
    pthread_mutex_lock(&mc->lane->lock);
    double tick_s = meter_channel_traits(ch).tick_s, lane_s = (double)mc->lane->period_ns * 1e-9;
    double still_s = (double)(ch->still.end_ns - ch->still.begin_ns) * 1e-9;
    bool answers = ch->info.state == JOULE_OK;
    pthread_mutex_unlock(&mc->lane->lock);
    *out_period_s = fmax(tick_s, lane_s);
    return answers && isnan(w.joules.value) && still_s <= 2 * *out_period_s;
}

/* Returns a hint about the first sensor that updates too seldom; NULL: none. */
static const char *advice_of_seldom(const struct collection *c)
{
    for (size_t i = 0; i < meter_channel_count(c->meter); i++) {
        const joule_domain *info = &c->meter->channels[i].channel->info;
        char advice[256], period[24], longer[24];
        double period_s;
        if (!is_too_seldom(c, i, &period_s))
            continue;
        joule_format(period_s, JOULE_DIMENSION_TIME, 2, period, sizeof period);
        joule_format(3 * period_s, JOULE_DIMENSION_TIME, 2, longer, sizeof longer);
        snprintf(advice, sizeof advice, "%s (%s) has a new value only every %s: measure for longer than %s",
                 info->name, info->source, period, longer);
        return collect_copy(c->report, advice);
    }
    return NULL;
}

/* Returns a hint about the first sensor that can be read but never showed energy; NULL: none. */
static const char *advice_of_still(const struct collection *c)
{
    for (size_t i = 0; i < meter_channel_count(c->meter); i++) {
        const struct meter_channel *mc = &c->meter->channels[i];
        const joule_domain *info = &mc->channel->info;
        char advice[192];
        pthread_mutex_lock(&mc->lane->lock);
        bool is_still = info->state == JOULE_OK && !mc->channel->moved && mc->channel->readings > 1;
        pthread_mutex_unlock(&mc->lane->lock);
        if (!is_still || !cover_can_count(mc->channel) || info->cls >= JOULE_CLASS_MODELLED ||
            atomic_load(&mc->hidden_by))
            continue;
        snprintf(advice, sizeof advice,
                 "the sensor %s (%s) stands still: firmware or hypervisor does not update it", info->name,
                 info->source);
        return collect_copy(c->report, advice);
    }
    return NULL;
}

/* --- boards that are hidden ----------------------------------------------------------------------------- */

static bool is_measured(const struct report *report)
{
    return !isnan(report->total_joules.value) && report->total_joules.cls < JOULE_CLASS_MODELLED;
}

static bool has_measured_part(const struct report *report)
{
    return !isnan(report->by_class[JOULE_CLASS_MEASURED].value) ||
           !isnan(report->by_class[JOULE_CLASS_DERIVED].value);
}

/* Returns a hint about boards that the environment hides, and about the evidence for the total without them.
 * Returns NULL if no board is hidden. */
static const char *advice_of_hidden(const struct collection *c)
{
    char advice[384], boards[128];
    const char *variable = meter_hidden_boards(c->meter, boards, sizeof boards);
    const struct report *report = c->report;
    if (!variable)
        return NULL;
    snprintf(advice, sizeof advice,
             "%s hides %s: excluded from the total, which is %s. Unset %s to include all devices", variable,
             boards,
             is_measured(report)                 ? "measured by other sensors"
             : has_measured_part(report)         ? "partly measured by other sensors, partly modelled"
             : isnan(report->total_joules.value) ? "unknown: no other sensor answers"
                                                 : "modelled: no other sensor answers",
             variable);
    return collect_copy(c->report, advice);
}

/* --- choice --------------------------------------------------------------------------------------------- */

/* Returns a hint, in static storage, for a total that no other hint explains. */
static const char *advice_of_total(const struct report *report)
{
    if (report->is_partial && report->partial_reason)
        return "a newer kernel or firmware may fix that sensor; run `joule doctor` for details";
    if (!has_measured_part(report))
        return "no energy sensor answers on this machine; run `joule doctor` to see why";
    return "no sensor answers for a part of the total; run `joule doctor` to see why";
}

void collect_advice(const struct collection *c)
{
    struct report *report = c->report;
    if (is_measured(report) && !report->is_partial) {
        report->first_advice = advice_of_hidden(c);
        return;
    }
    const char *remedy = remedy_of_refused(c);
    remedy = remedy ? remedy : remedy_of_source(c);
    report->first_advice = remedy ? collect_copy(report, remedy) : advice_of_hidden(c);
    if (!report->first_advice)
        report->first_advice = advice_of_late_source(c);
    if (!report->first_advice)
        report->first_advice = advice_of_seldom(c);
    if (!report->first_advice && !report->partial_reason)
        report->first_advice = advice_of_still(c);
    if (!report->first_advice)
        report->first_advice = advice_of_total(report);
}
