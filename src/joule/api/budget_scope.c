/* joule/api/budget_scope.c - see budget_scope.h.
 *
 * A scope is prepared when it is first entered: its text is parsed, its name becomes a tag, and its budget is
 * stored in the session.
 * Note: several threads may prepare one scope at once. All of them do the same, but only one thread adds the
 * scope to the list.
 */
#include "joule/api/budget_scope.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/string.h"
#include "joule/api/budget_text.h"
#include "joule/api/framed.h"
#include "joule/api/open.h"
#include "joule/api/tag_row.h"
#include "joule/collector/collector.h"
#include "joule/curve/estimate.h"
#include "joule/session/session.h"

#define VARIABLE "JOULE_BUDGET_WARN"

/* Indices of joule_budget_site.private_. */
enum { SITE_IS_READY, SITE_TAG, SITE_ENTERED };

/* A scope with a valid budget. It is never freed. */
struct scope {
    struct scope *next;
    uint32_t tag;
    bool is_notified;  /* the handler was notified of the excess; guarded by `checking` */
    double max_joules; /* limit for the mean joules of its calls */
    char *budget;      /* text of the budget */
    char name[SESSION_NAME];
};

/* State of all scopes of the process. */
static struct {
    _Atomic(struct scope *) first; /* scopes are only added */
    /* session_generation of the checking thread's process; 0: no check is running. */
    _Atomic uint32_t checking;
    _Atomic joule_budget_handler_fn handler;
    void *context;
} scopes;

/* --- notification --------------------------------------------------------------------------------------- */

static bool is_warning_enabled(void)
{
    const char *value = secure_getenv(VARIABLE);
    return value && *value && strcmp(value, "0") != 0;
}

/* Prints a warning if JOULE_BUDGET_WARN is set. */
static void warn(const char *message)
{
    char line[640];
    if (!is_warning_enabled())
        return;
    string_print(line, sizeof line, "joule: %s\n", message);
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written; /* an error cannot be reported anywhere */
}

/* Calls the handler, or warns if there is none. */
static void notify(const joule_budget_event *event)
{
    joule_budget_handler_fn handler = atomic_load_explicit(&scopes.handler, memory_order_acquire);
    if (handler)
        handler(event, scopes.context);
    else
        warn(event->message);
}

void joule_budget_set_handler(joule_budget_handler_fn handler, void *context)
{
    atomic_store_explicit(&scopes.handler, NULL, memory_order_release);
    scopes.context = context;
    atomic_store_explicit(&scopes.handler, handler, memory_order_release);
}

/* Notifies that a scope's budget cannot be watched. `reason`: text for a person. */
static void notify_invalid(const char *name, const char *budget, const char *reason)
{
    char message[600];
    string_print(message, sizeof message, "cannot watch the budget of %s: %s", name, reason);
    notify(&(joule_budget_event){.struct_size = sizeof(joule_budget_event),
                                 .status = JOULE_BUDGET_NOT_MEASURED,
                                 .name = name,
                                 .budget = budget,
                                 .message = message,
                                 .joules = quantity_unknown()});
}

/* Notifies that the mean call of a scope exceeds its budget. `joules`: mean of a call. */
static void notify_excess(const struct scope *scope, uint64_t calls, joule_quantity joules)
{
    char message[600], value[32], low[32], high[32];
    joule_format(joules.value, JOULE_DIMENSION_ENERGY, 3, value, sizeof value);
    joule_format(joules.low, JOULE_DIMENSION_ENERGY, 3, low, sizeof low);
    joule_format(joules.high, JOULE_DIMENSION_ENERGY, 3, high, sizeof high);
    string_print(message, sizeof message,
                 "%s uses %s per call (%s to %s, %s, mean of %llu calls); its budget is %s", scope->name,
                 value, low, high, joule_class_name(joules.cls), (unsigned long long)calls, scope->budget);
    notify(&(joule_budget_event){.struct_size = sizeof(joule_budget_event),
                                 .status = JOULE_BUDGET_OVER,
                                 .name = scope->name,
                                 .budget = scope->budget,
                                 .message = message,
                                 .count = calls,
                                 .joules = joules});
}

/* --- check ---------------------------------------------------------------------------------------------- */

/* Judges the mean energy of a scope's calls, using the figures that a report shows for its tag. Notifies the
 * handler if the mean exceeds the budget. */
static void check(struct scope *scope, joule_meter *meter)
{
    struct tag_row row;
    if (!tag_row_get(meter, scope->tag, &row) || row.unsynchronised || row.attributed_count == 0 ||
        row.flags & TAG_BRIEF)
        return;
    joule_quantity mean = quantity_scale(row.result.attributed, 1 / (double)row.attributed_count);
    if (joule_budget_judge(mean, scope->max_joules) != JOULE_BUDGET_OVER)
        return;
    scope->is_notified = true;
    notify_excess(scope, row.attributed_count, mean);
}

/* Marks the check of this process as running. Returns false if a check is running already. A check that ran
 * in the parent at fork is ignored. */
static bool begin_checking(void)
{
    uint32_t generation = atomic_load_explicit(&session_generation, memory_order_relaxed);
    uint32_t holder = atomic_load_explicit(&scopes.checking, memory_order_relaxed);
    return holder != generation &&
           atomic_compare_exchange_strong_explicit(&scopes.checking, &holder, generation,
                                                   memory_order_acquire, memory_order_relaxed);
}

void budget_scopes_check(joule_meter *meter)
{
    struct scope *scope = atomic_load_explicit(&scopes.first, memory_order_acquire);
    if (!scope || !collector_of(meter) || !begin_checking())
        return;
    for (; scope; scope = scope->next)
        if (!scope->is_notified)
            check(scope, meter);
    atomic_store_explicit(&scopes.checking, 0, memory_order_release);
}

/* --- entry ---------------------------------------------------------------------------------------------- */

/* Writes the name of a site: "FUNCTION:LINE", or "FUNCTION" if its line is 0. A long function name is
 * truncated. */
static void name_site(char out_name[SESSION_NAME], const joule_budget_site *site)
{
    char line[16] = "";
    if (site->line)
        string_print(line, sizeof line, ":%lu", (unsigned long)site->line);
    string_copy(out_name, SESSION_NAME - strlen(line), site->function ? site->function : "");
    memcpy(out_name + strlen(out_name), line, strlen(line) + 1);
}

/* Adds a scope to the list if the list has no scope with this tag. If out of memory, reports contain the
 * scope, but the handler is never called for it. */
static void list(const char *name, uint32_t tag, const char *budget, double max_joules)
{
    struct scope *first = atomic_load_explicit(&scopes.first, memory_order_acquire);
    for (const struct scope *other = first; other; other = other->next)
        if (other->tag == tag)
            return; /* another site on the same line, in a header or a template */
    struct scope *scope = calloc(1, sizeof *scope);
    char *copy = scope ? strdup(budget) : NULL;
    if (!copy) {
        free(scope);
        return;
    }
    *scope = (struct scope){.next = first, .tag = tag, .max_joules = max_joules, .budget = copy};
    string_copy(scope->name, sizeof scope->name, name);
    while (!atomic_compare_exchange_weak_explicit(&scopes.first, &scope->next, scope, memory_order_acq_rel,
                                                  memory_order_acquire))
        ;
}

/* Returns the maximum joules of a call. Returns NaN if the budget is invalid or lacks max_joules, and then
 * notifies the handler if is_first is true. */
static double read_budget(const joule_budget_site *site, const char *name, bool is_first)
{
    struct budget_text budget = {.max_joules = NAN};
    joule_error error;
    joule_status status = budget_text_parse(site->budget, &budget, NULL, &error);
    if (is_first && status != JOULE_OK)
        notify_invalid(name, site->budget, error.message);
    else if (is_first && isnan(budget.max_joules))
        notify_invalid(name, site->budget, "a scope needs max_joules, for example max_joules=50uJ");
    return budget.max_joules;
}

/* At exit, ends open scopes and checks all scopes once more, because a short program may end before its next
 * check. */
static void end_all_at_exit(void)
{
    region_end_framed_since(0);
    joule_meter *meter = is_warning_enabled() ? meter_default_if_open() : NULL;
    struct collector *collector = meter ? collector_of(meter) : NULL;
    if (!collector)
        return;
    joule_sample_now(meter);
    collector_finish(collector);
    budget_scopes_check(meter);
}

/* Prepares the process once. If another thread is preparing the process, does not wait for that thread. */
static void prepare_process(struct session *session)
{
    static atomic_bool is_begun;
    if (atomic_exchange(&is_begun, true))
        return;
    session_set_timestamp_seconds(session, region_timestamp_seconds());
    atexit(end_all_at_exit);
    if (is_warning_enabled() && !atomic_load_explicit(&scopes.handler, memory_order_acquire))
        meter_or_default(NULL); /* without a meter, no excess would be detected */
}

/* Prepares a site. `expected`: expected joules of a call that is only counted; NULL: calls are timed. */
__attribute__((noinline, cold)) static void prepare(joule_budget_site *site, const joule_quantity *expected)
{
    char name[SESSION_NAME];
    name_site(name, site);
    struct session *session = session_current();
    prepare_process(session);
    uint32_t tag = session_tag(session, name);
    if (expected && tag != TAG_OTHER)
        session_set_expected(session, tag, *expected);
    bool is_first = __atomic_fetch_add(&site->private_[SITE_ENTERED], 1, __ATOMIC_RELAXED) == 0;
    double max_joules = read_budget(site, name, is_first);
    if (max_joules > 0 && tag != TAG_OTHER && session_set_call_budget(session, tag, max_joules) && is_first)
        list(name, tag, site->budget, max_joules);
    __atomic_store_n(&site->private_[SITE_TAG], tag, __ATOMIC_RELAXED);
    __atomic_store_n(&site->private_[SITE_IS_READY], 1, __ATOMIC_RELEASE);
}

joule_region joule_budget_scope_begin(joule_budget_site *site)
{
    if (__builtin_expect(!__atomic_load_n(&site->private_[SITE_IS_READY], __ATOMIC_ACQUIRE), 0))
        prepare(site, NULL);
    return region_begin_framed(__atomic_load_n(&site->private_[SITE_TAG], __ATOMIC_RELAXED), site->flags);
}

void joule_budget_count(joule_budget_counted *counted)
{
    joule_budget_site *site = &counted->site;
    if (__builtin_expect(!__atomic_load_n(&site->private_[SITE_IS_READY], __ATOMIC_ACQUIRE), 0))
        prepare(site, &counted->joules_per_call);
    region_count(__atomic_load_n(&site->private_[SITE_TAG], __ATOMIC_RELAXED));
}

/* --- exit ----------------------------------------------------------------------------------------------- */

uint64_t joule_budget_scope_mark(void)
{
    return (uint64_t)clock_now_ns();
}

void joule_budget_scope_unwind(uint64_t mark)
{
    region_end_framed_since(mark < INT64_MAX ? (int64_t)mark : INT64_MAX);
}
