/* joule/api/budget_scope.h - scopes with a budget, as JOULE_BUDGET_SCOPE makes them.
 *
 * It keeps the budget of each scope and calls the handler. Reports get these budgets from the session, as for
 * every tag (session_set_call_budget).
 * Note: a scope's static object may be in a library that is unloaded later, so nothing here points to it.
 */
#ifndef JOULE_BUDGET_SCOPE_H
#define JOULE_BUDGET_SCOPE_H

#include <joule/budget.h>

/* Calls the handler once for each scope that exceeds its budget, by the energy that the meter knows. Costs
 * nothing without scopes. Returns at once during another check, for example in a call from the handler. */
void budget_scopes_check(joule_meter *meter);

#endif
