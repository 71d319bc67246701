/* joule/api/budget_scope.h - checks scopes with a budget, which JOULE_BUDGET_SCOPE makes.
 *
 * The budget of each scope is kept here, and the handler is called from here. Reports get the budgets from
 * the session (session_set_call_budget).
 * Note: a scope's static object may be in a library that is unloaded later, so nothing here points to it.
 */
#ifndef JOULE_BUDGET_SCOPE_H
#define JOULE_BUDGET_SCOPE_H

#include <joule/budget.h>

/* Calls the handler once for each scope that exceeds its budget, by the energy that the meter knows. Costs
 * nothing without scopes. Returns at once during another check, for example in a call from the handler. */
void budget_scopes_check(joule_meter *meter);

#endif
