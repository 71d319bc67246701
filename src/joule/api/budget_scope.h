/* joule/api/budget_scope.h - scopes with a budget, as JOULE_BUDGET_SCOPE makes them.
 *
 * Owns what is known of each scope besides its tag, and telling the handler. Reports know nothing of it: they get the
 * budget from the session, as they get that of every tag (session_allow_each).
 * Newcomers: a scope's static object may lie in a library that is unloaded, so nothing here points to it.
 */
#ifndef JOULE_BUDGET_SCOPE_H
#define JOULE_BUDGET_SCOPE_H

#include <joule/budget.h>

/* Tells the handler of scopes that are over their budget by what the meter knows, each once. Costs nothing where there is
 * no scope. A check that finds another one going on, also that of its own handler, returns at once. */
void budget_scopes_check(joule_meter *meter);

#endif
