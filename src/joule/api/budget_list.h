/* joule/api/budget_list.h - the budgets of one meter.
 *
 * Owns the list of running budgets and their checking at each round of readings; <joule/budget.h> is what programs
 * see. Newcomers: enforcement acts on the best estimate (near at 80 %, passed above 100 %), because waiting until a
 * passing is certain would overrun every budget; the status in results is the judgement with its probability.
 */
#ifndef JOULE_BUDGET_LIST_H
#define JOULE_BUDGET_LIST_H

#include <joule/budget.h>

struct budget_list;

/* NULL: no memory. */
struct budget_list *budget_list_create(joule_meter *meter);
/* Also frees budgets that were never ended. No check may be running. NULL is allowed. */
void budget_list_free(struct budget_list *list);
/* Looks at every budget and calls those who wait for it. Holds no lock that a callback could need, except that a
 * second thread's check returns at once. NULL is allowed. */
void budget_list_check(struct budget_list *list);

#endif
