/* joule/api/budget.c - see budget_list.h.
 *
 * Two locks are used. `checking` is held while budgets are updated or removed, and during callbacks. `lock`
 * guards the list and the results that joule_budget_begin, joule_budget_now and a check share. It is never
 * held during a callback.
 * Note: a budget's figures come from the same windows as all other figures, so they agree with a report over
 * the same time.
 */
#include "joule/api/budget_list.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "joule/struct_sizes.h"
#include "joule/api/budget_scope.h"
#include "joule/api/open.h"
#include "joule/session/session.h"

#define NEAR_SHARE    0.8
#define SURE          0.95
#define POWER_SPAN_NS 1000000000LL
#define MIN_COVERAGE  0.5 /* minimum coverage of the power window */

/* A running budget, owned by the list of its meter. */
struct joule_budget {
    struct joule_budget *next;
    joule_meter *meter;
    joule_budget_options options;
    int64_t begin_ns;
    double begin_celsius;         /* NaN: no gauge was read yet */
    double begin_tag_joules;      /* joules of the tag before the budget began */
    joule_quantity peak_watts;    /* highest mean over a second */
    joule_budget_status notified; /* last notified status: WITHIN, NEAR or OVER */
    joule_budget_result result;
};

/* The running budgets of a meter, newest first. */
struct budget_list {
    struct meter_listener listener; /* the first member */
    joule_meter *meter;
    pthread_mutex_t checking, lock;
    struct joule_budget *first;
};

/* --- judgement ------------------------------------------------------------------------------------------ */

joule_budget_status joule_budget_judge(joule_quantity joules, double max_joules)
{
    double within = joule_probability_below(joules, max_joules);
    if (isnan(within))
        return JOULE_BUDGET_NOT_MEASURED;
    if (within >= SURE)
        return joules.value < NEAR_SHARE * max_joules ? JOULE_BUDGET_WITHIN : JOULE_BUDGET_NEAR;
    if (within <= 1 - SURE)
        return JOULE_BUDGET_OVER;
    /* If the interval includes 0, the energy cannot be distinguished from 0. */
    return joules.low > 0 ? JOULE_BUDGET_UNDECIDED : JOULE_BUDGET_BELOW_RESOLUTION;
}

/* Returns the worse status of two limits: a certain excess is worst, then an unknown value. */
static joule_budget_status worse(joule_budget_status a, joule_budget_status b)
{
    static const int rank[] = {
        [JOULE_BUDGET_WITHIN] = 0,    [JOULE_BUDGET_NEAR] = 1,         [JOULE_BUDGET_BELOW_RESOLUTION] = 2,
        [JOULE_BUDGET_UNDECIDED] = 3, [JOULE_BUDGET_NOT_MEASURED] = 4, [JOULE_BUDGET_OVER] = 5};
    return rank[a] >= rank[b] ? a : b;
}

/* --- updates -------------------------------------------------------------------------------------------- */

/* Returns a tag's joules since the budget began. Unknown if the tag has no result. Note: the interval is
 * wider than necessary. It has the width of all joules of the tag, including those from before the budget
 * began. */
static joule_quantity tag_joules(const struct joule_budget *budget)
{
    joule_result result = {.struct_size = sizeof result};
    joule_status status = joule_tag_result(budget->meter, budget->options.tag, &result);
    if (status != JOULE_OK && status != JOULE_PENDING)
        return quantity_unknown();
    joule_quantity q = result.attributed;
    q.value -= budget->begin_tag_joules;
    q.low -= budget->begin_tag_joules;
    q.high -= budget->begin_tag_joules;
    return q;
}

/* Returns the joules of the budget's tag or domain from the start of the budget to now_ns. */
static joule_quantity joules_until(const struct joule_budget *budget, int64_t now_ns)
{
    if (budget->options.tag)
        return tag_joules(budget);
    struct window w = meter_window(budget->meter, budget->options.domain, budget->begin_ns, now_ns);
    return estimate_quantity(&w.joules);
}

/* Returns the domain whose power a budget limits. */
static int32_t power_domain(const struct joule_budget *budget)
{
    return budget->options.tag ? JOULE_TOTAL : budget->options.domain;
}

/* Raises the peak to the mean power of the last second if that is higher. is_last: a budget that is shorter
 * than a second uses the mean power of its whole time. */
static void raise_peak(struct joule_budget *budget, int64_t now_ns, bool is_last)
{
    int64_t length_ns = now_ns - budget->begin_ns;
    if (length_ns < POWER_SPAN_NS && !(is_last && isnan(budget->peak_watts.value)))
        return;
    if (length_ns > POWER_SPAN_NS)
        length_ns = POWER_SPAN_NS;
    struct window w = meter_window(budget->meter, power_domain(budget), now_ns - length_ns, now_ns);
    if (!(w.covered_s >= MIN_COVERAGE * w.length_s) || w.covered_s <= 0)
        return;
    struct estimate watts = estimate_scale(w.joules, 1 / w.covered_s);
    if (!(watts.value <= budget->peak_watts.value))
        budget->peak_watts = estimate_quantity(&watts);
}

/* Returns the highest rise in kelvin so far; NaN: no gauge could be read. The first reading sets
 * begin_celsius. */
static double temperature_rise(struct joule_budget *budget)
{
    double celsius = meter_hottest_celsius(budget->meter);
    if (isnan(budget->begin_celsius))
        budget->begin_celsius = celsius;
    return fmax(budget->result.temperature_rise_kelvin, celsius - budget->begin_celsius);
}

/* Returns the maximum joules that a domain can use between its last tick and its next reading. The next
 * reading is at most wait_s after the domain's next tick. NaN: the physical limit of the domain is
 * unknown. */
static double max_unread_joules(const struct meter_channel *mc, double wait_s)
{
    const struct channel *ch = mc->channel;
    /* the lock is held because an integrator updates the channel's period */
    pthread_mutex_lock(&mc->lane->lock);
    bool is_counter = ch->mode == CHANNEL_COUNTER;
    double max_watts = is_counter ? ch->counter.max_watts : ch->integrator.max_watts;
    double tick_s = meter_channel_traits(ch).tick_s;
    pthread_mutex_unlock(&mc->lane->lock);
    return max_watts > 0 ? max_watts * (tick_s + wait_s) : NAN;
}

/* Returns the maximum joules that the domains can use between two checks; NaN: unknown. */
static double overshoot_bound(const struct joule_budget *budget, int64_t now_ns)
{
    joule_meter *meter = budget->meter;
    struct cover cover;
    double bound = 0;
    meter_cover(meter, power_domain(budget), budget->begin_ns, now_ns, &cover);
    for (size_t i = 0; i < cover.count; i++) {
        const struct meter_channel *mc = &meter->channels[cover.ids[i]];
        int64_t wait_ns = mc->lane->period_ns;
        if (mc->lane != meter->lanes[0] || budget->options.tag)
            /* Only lane 0 checks budgets and attributes energy to tags. So the check may follow a reading of
             * another lane by up to one period of lane 0. */
            wait_ns += meter->lanes[0]->period_ns;
        bound += max_unread_joules(mc, clock_seconds(wait_ns));
    }
    return cover.count ? bound : NAN;
}

/* Returns the worst of the statuses of a budget's limits. */
static joule_budget_status judge_all(const struct joule_budget *budget, const joule_budget_result *result)
{
    const joule_budget_options *limits = &budget->options;
    double rise = result->temperature_rise_kelvin;
    joule_quantity exact_rise = {.value = rise, .low = rise, .high = rise, .cls = JOULE_CLASS_MEASURED};
    joule_budget_status status = JOULE_BUDGET_WITHIN;
    if (limits->max_joules > 0)
        status = worse(status, joule_budget_judge(result->joules, limits->max_joules));
    if (limits->max_watts > 0)
        status = worse(status, joule_budget_judge(budget->peak_watts, limits->max_watts));
    if (limits->max_temperature_rise_kelvin > 0)
        status = worse(status, joule_budget_judge(exact_rise, limits->max_temperature_rise_kelvin));
    return status;
}

/* Updates the budget's result. The caller holds `checking`. */
static void update(struct budget_list *list, struct joule_budget *budget, bool is_last)
{
    int64_t now_ns = meter_now_ns(budget->meter);
    raise_peak(budget, now_ns, is_last);
    joule_budget_result result = {
        .struct_size = sizeof result,
        .joules = joules_until(budget, now_ns),
        .probability = NAN,
        .peak_watts = budget->peak_watts.value,
        .temperature_rise_kelvin = temperature_rise(budget),
        .overshoot_bound_joules = overshoot_bound(budget, now_ns),
    };
    if (budget->options.max_joules > 0)
        result.probability = joule_probability_below(result.joules, budget->options.max_joules);
    result.status = judge_all(budget, &result);
    pthread_mutex_lock(&list->lock);
    budget->result = result;
    pthread_mutex_unlock(&list->lock);
}

/* --- notifications -------------------------------------------------------------------------------------- */

/* Returns the part of a limit that was used; 0 if the use is unknown or there is no limit. */
static double share_used(double used, double limit)
{
    return limit > 0 && used > 0 ? used / limit : 0; /* an unknown value must not stop a program */
}

/* Returns WITHIN, NEAR or OVER by the best estimates, for the limit that is used most. */
static joule_budget_status worst_status(const struct joule_budget *budget)
{
    const joule_budget_options *limits = &budget->options;
    double used = share_used(budget->result.joules.value, limits->max_joules);
    used = fmax(used, share_used(budget->result.peak_watts, limits->max_watts));
    used =
        fmax(used, share_used(budget->result.temperature_rise_kelvin, limits->max_temperature_rise_kelvin));
    return used > 1 ? JOULE_BUDGET_OVER : used >= NEAR_SHARE ? JOULE_BUDGET_NEAR : JOULE_BUDGET_WITHIN;
}

/* Calls the budget's notify function if the status is worse than at any earlier call. */
static void notify_status(struct joule_budget *budget)
{
    joule_budget_status status = worst_status(budget);
    if (worse(status, budget->notified) == budget->notified)
        return;
    budget->notified = status;
    if (budget->options.notify)
        budget->options.notify(budget, status, budget->options.context);
    if (status == JOULE_BUDGET_OVER && (budget->options.flags & JOULE_BUDGET_STOP))
        kill(getpid(), SIGTERM);
}

void budget_list_check(struct budget_list *list)
{
    if (pthread_mutex_trylock(&list->checking) != 0)
        return;
    pthread_mutex_lock(&list->lock);
    struct joule_budget *budget = list->first;
    pthread_mutex_unlock(&list->lock);
    /* New budgets are added in front; none is removed while `checking` is held. */
    for (; budget; budget = budget->next) {
        update(list, budget, false);
        notify_status(budget);
    }
    pthread_mutex_unlock(&list->checking);
}

/* --- begin and end -------------------------------------------------------------------------------------- */

static void free_listener(struct meter_listener *listener)
{
    struct budget_list *list = (struct budget_list *)listener;
    for (struct joule_budget *budget = list->first, *next; budget; budget = next) {
        next = budget->next;
        free(budget);
    }
    pthread_mutex_destroy(&list->checking);
    pthread_mutex_destroy(&list->lock);
    free(list);
}

static void check_listener(struct meter_listener *listener, int64_t now_ns)
{
    struct budget_list *list = (struct budget_list *)listener;
    (void)now_ns;
    budget_list_check(list);
    budget_scopes_check(list->meter);
}

static const struct meter_listener_ops budget_list_ops = {.after_round = check_listener,
                                                          .free = free_listener};

struct budget_list *budget_list_of(joule_meter *meter)
{
    return (struct budget_list *)meter_find_listener(meter, &budget_list_ops);
}

bool budget_list_create(joule_meter *meter)
{
    struct budget_list *list = calloc(1, sizeof *list);
    if (!list)
        return false;
    list->listener.ops = &budget_list_ops;
    list->meter = meter;
    pthread_mutex_init(&list->checking, NULL);
    pthread_mutex_init(&list->lock, NULL);
    bool is_added = meter_add_listener(meter, &list->listener);
    if (!is_added)
        free_listener(&list->listener);
    return is_added;
}

static bool is_limit(double limit)
{
    return isfinite(limit) && limit >= 0;
}

/* Copies the caller's options to *out. Returns INVALID or UNSUPPORTED with a message. */
static joule_status take_options(const joule_budget_options *given, joule_budget_options *out,
                                 joule_error *error)
{
    joule_status status = abi_read(out, sizeof *out, BUDGET_OPTIONS_SIZE_1, given);
    if (status == JOULE_INVALID)
        return error_set(error, status,
                         "joule_budget_options.struct_size is not set to sizeof(joule_budget_options)");
    if (status != JOULE_OK || out->flags & ~JOULE_BUDGET_STOP)
        return error_set(error, JOULE_UNSUPPORTED,
                         "joule_budget_options: some options are not supported by libjoule %s",
                         joule_version());
    return JOULE_OK;
}

/* Returns INVALID, with a message, for wrong limits or a domain without energy. */
static joule_status check_options(joule_meter *meter, const joule_budget_options *options, joule_error *error)
{
    if (!is_limit(options->max_joules) || !is_limit(options->max_watts) ||
        !is_limit(options->max_temperature_rise_kelvin))
        return error_set(error, JOULE_INVALID,
                         "limits of a budget must be finite and not negative (0: none)");
    if (options->max_joules + options->max_watts + options->max_temperature_rise_kelvin <= 0)
        return error_set(error, JOULE_INVALID,
                         "a budget needs a limit: set max_joules, max_watts or "
                         "max_temperature_rise_kelvin");
    int32_t domain = options->tag ? JOULE_TOTAL : options->domain;
    if (!meter_has_energy(meter, domain))
        return error_set(error, JOULE_INVALID, "domain %d has no energy; `joule devices` lists all domains",
                         (int)domain);
    return JOULE_OK;
}

static void add_to_list(struct budget_list *list, struct joule_budget *budget)
{
    pthread_mutex_lock(&list->lock);
    budget->next = list->first;
    list->first = budget;
    pthread_mutex_unlock(&list->lock);
}

joule_status joule_budget_begin(joule_meter *meter, const joule_budget_options *options,
                                joule_budget **out_budget, joule_error *out_error)
{
    if (!out_budget)
        return error_set(out_error, JOULE_INVALID, "joule_budget_begin: out_budget is NULL");
    *out_budget = NULL;
    meter = meter_or_default(meter);
    struct budget_list *list = meter ? budget_list_of(meter) : NULL;
    if (!list)
        return error_set(out_error, JOULE_FAILED, "cannot watch a budget: no meter can be opened");
    if (meter->pid != getpid())
        return error_set(out_error, JOULE_STALE, "the meter was opened before fork; open a new one");
    joule_budget_options known;
    joule_status status = take_options(options, &known, out_error);
    if (status == JOULE_OK)
        status = check_options(meter, &known, out_error);
    if (status != JOULE_OK)
        return status;
    struct joule_budget *budget = meter_watch(meter) ? calloc(1, sizeof *budget) : NULL;
    if (!budget)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot watch a budget: out of memory or threads");
    *budget = (struct joule_budget){.meter = meter,
                                    .options = known,
                                    .begin_ns = meter_now_ns(meter),
                                    .begin_celsius = meter_hottest_celsius(meter),
                                    .peak_watts = quantity_unknown(),
                                    .notified = JOULE_BUDGET_WITHIN};
    budget->result = (joule_budget_result){.joules = quantity_unknown(),
                                           .probability = NAN,
                                           .peak_watts = NAN,
                                           .temperature_rise_kelvin = NAN,
                                           .overshoot_bound_joules = NAN};
    if (known.tag) {
        double before = tag_joules(budget).value;
        budget->begin_tag_joules = before > 0 ? before : 0;
    }
    if (known.tag && known.max_joules > 0 &&
        !session_add_budget(session_current(), known.tag, known.max_joules)) {
        free(budget);
        return error_set(out_error, JOULE_NO_MEMORY, "cannot watch the budget of a tag: out of memory");
    }
    add_to_list(list, budget);
    *out_budget = budget;
    return JOULE_OK;
}

/* Returns INVALID for wrong arguments, STALE after fork, otherwise OK. out_result may be NULL. */
static joule_status check_call(const joule_budget *budget, const joule_budget_result *out_result)
{
    if (!budget || (out_result && !abi_has_room(out_result, BUDGET_RESULT_SIZE_1)))
        return JOULE_INVALID;
    return budget->meter->pid == getpid() ? JOULE_OK : JOULE_STALE;
}

joule_status joule_budget_now(joule_budget *budget, joule_budget_result *out_result)
{
    joule_status status = out_result ? check_call(budget, out_result) : JOULE_INVALID;
    if (status != JOULE_OK)
        return status;
    struct budget_list *list = budget_list_of(budget->meter);
    pthread_mutex_lock(&list->lock);
    joule_budget_result result = budget->result;
    pthread_mutex_unlock(&list->lock);
    abi_write(out_result, &result, sizeof result);
    return JOULE_OK;
}

joule_status joule_budget_end(joule_budget *budget, joule_budget_result *out_result)
{
    joule_status status = check_call(budget, out_result);
    if (status != JOULE_OK)
        return status;
    struct budget_list *list = budget_list_of(budget->meter);
    joule_sample_now(budget->meter);
    pthread_mutex_lock(&list->checking);
    update(list, budget, true);
    notify_status(budget);
    pthread_mutex_lock(&list->lock);
    struct joule_budget **link = &list->first;
    while (*link != budget)
        link = &(*link)->next;
    *link = budget->next;
    pthread_mutex_unlock(&list->lock);
    pthread_mutex_unlock(&list->checking);
    if (out_result)
        abi_write(out_result, &budget->result, sizeof budget->result);
    free(budget);
    return JOULE_OK;
}
