/* tools/joule/budget_guard.h - ends a command that exceeds its budget: warning at 80 %, SIGTERM, grace time,
 * SIGKILL.
 *
 * Note: the guard acts on the best estimate. If it waited until the energy is certain, every budget would be
 * exceeded.
 */
#ifndef JOULE_BUDGET_GUARD_H
#define JOULE_BUDGET_GUARD_H

#include "child.h"
#include "measurement.h"

struct guard {
    double budget_joules; /* 0: no budget */
    double grace_s;
    const char *subject; /* subcommand named in messages; NULL: print no messages */
    enum { GUARD_WATCHING, GUARD_WARNED, GUARD_TERMINATED, GUARD_KILLED } stage;
    int64_t next_ns; /* time of the next check; INT64_MAX: never */
};

/* Returns a guard, which needs no cleanup. budget_joules 0: the guard does nothing. grace_s: seconds between
 * SIGTERM and SIGKILL. */
struct guard guard_start(double budget_joules, double grace_s, const char *subject);
/* Checks the budget if a check is due, and warns or signals the command. Call it whenever child_wait
 * returns. */
void guard_check(struct guard *guard, struct measurement *measurement, struct child *child);
/* Returns true if the command was signalled to end because of its budget. */
bool guard_has_acted(const struct guard *guard);

#endif
