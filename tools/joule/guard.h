/* tools/joule/guard.h - what happens to a command that passes its budget.
 *
 * Owns the steps: a warning at 80 %, SIGTERM to all of the command's processes, a time of grace, SIGKILL.
 * Newcomers: it acts on the best estimate. Waiting until a passing is certain would let every budget be passed.
 */
#ifndef JOULE_GUARD_H
#define JOULE_GUARD_H

#include "child.h"
#include "measuring.h"

struct guard {
    double budget_joules; /* 0: nothing to guard */
    double grace_s;
    const char *subject; /* the subcommand that warns; NULL: nothing is said */
    enum { GUARD_WATCHING, GUARD_WARNED, GUARD_TERMINATED, GUARD_KILLED } stage;
    int64_t next_ns; /* when to look again; INT64_MAX: never */
};

struct guard guard_start(double budget_joules, double grace_s, const char *subject);
/* Does what is due; called whenever child_wait returns. */
void guard_look(struct guard *guard, struct measuring *measuring, struct child *child);
/* True once the command was told to end because of its budget. */
bool guard_has_acted(const struct guard *guard);

#endif
