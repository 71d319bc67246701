/* tools/joule/budget_guard.c - see budget_guard.h. */
#include "budget_guard.h"

#include "base/clock.h"
#include "common/options.h"

#define NEAR 0.8 /* part of the budget after which the user is warned */
/* time between SIGKILLs; one SIGKILL may miss processes that fork while they are listed */
#define KILL_AGAIN_S 0.05

struct guard guard_start(double budget_joules, double grace_s, const char *subject)
{
    return (struct guard){.budget_joules = budget_joules,
                          .grace_s = grace_s,
                          .subject = subject,
                          .next_ns = budget_joules > 0 ? 0 : INT64_MAX};
}

bool guard_has_acted(const struct guard *guard)
{
    return guard->stage >= GUARD_TERMINATED;
}

static int64_t nanoseconds(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

static void print_warning(const struct guard *guard, const char *format, const struct budget_state *state)
{
    char budget[32], used[32];
    joule_format(guard->budget_joules, JOULE_DIMENSION_ENERGY, 3, budget, sizeof budget);
    joule_format(state->joules.value, JOULE_DIMENSION_ENERGY, 3, used, sizeof used);
    if (guard->subject)
        complain(guard->subject, format, used, state->is_machine ? "the machine" : "the command", budget);
}

static void check_budget(struct guard *guard, struct measurement *measurement, struct child *child,
                         int64_t now)
{
    struct budget_state state = measurement_budget(measurement, child->begin_ns, child->group);
    double used = state.joules.value; /* if the joules are unknown (NaN), the comparisons below are false, and
                                       * no command is ended */
    guard->next_ns = now + nanoseconds(measurement->period_s);
    if (state.is_over) {
        print_warning(guard, "%s used by %s, more than the budget of %s; ending the command", &state);
        child_signal_all(child, SIGTERM);
        child_signal_all(child, SIGCONT); /* a stopped process could not handle SIGTERM */
        guard->stage = GUARD_TERMINATED;
        guard->next_ns = now + nanoseconds(guard->grace_s);
    } else if (guard->stage == GUARD_WATCHING && used >= NEAR * guard->budget_joules) {
        print_warning(guard, "%s used by %s, more than 80 %% of the budget of %s", &state);
        guard->stage = GUARD_WARNED;
    }
}

void guard_check(struct guard *guard, struct measurement *measurement, struct child *child)
{
    int64_t now = clock_now_ns();
    if (now < guard->next_ns)
        return;
    if (!guard_has_acted(guard)) {
        check_budget(guard, measurement, child, now);
        return;
    }
    child_signal_all(child, SIGKILL);
    guard->stage = GUARD_KILLED;
    guard->next_ns = now + nanoseconds(KILL_AGAIN_S);
}
