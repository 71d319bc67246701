/* joule/api/budget_scope.h - checks the budgets of scopes (JOULE_BUDGET_SCOPE) at run time.
 *
 * budget_scope.c stores the budget of each scope and calls the handler. Reports read the budgets from the
 * session (session_set_call_budget).
 * Note: a scope's static object may be in a library that is unloaded later, so budget_scope.c stores no
 * pointer to it.
 */
#ifndef JOULE_BUDGET_SCOPE_H
#define JOULE_BUDGET_SCOPE_H

#include <joule/budget.h>

/* Calls the handler once for each scope that exceeds its budget, by the energy that the meter has attributed
 * so far. Does nothing if there are no scopes, or if another check is running, for example in the caller of
 * the handler. */
void budget_scopes_check(joule_meter *meter);

#endif
