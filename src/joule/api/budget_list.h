/* joule/api/budget_list.h - the running budgets of a meter, which are checked after each round of readings.
 *
 * Note: notifications act on the best estimate (near from 80 %, exceeded above 100 %). Waiting until the
 * excess is certain would overrun every budget. The status in results also uses the interval of the joules.
 */
#ifndef JOULE_BUDGET_LIST_H
#define JOULE_BUDGET_LIST_H

#include <joule/budget.h>

struct budget_list;

/* Makes an empty list, which the caller frees with budget_list_free. Returns NULL if out of memory. */
struct budget_list *budget_list_create(joule_meter *meter);
/* Frees the list and all budgets that were not ended. No check may be running. NULL is allowed. */
void budget_list_free(struct budget_list *list);
/* Updates every budget and calls its notify function if its status got worse. Returns at once if another
 * thread is checking the list, also during its callbacks. NULL is allowed. */
void budget_list_check(struct budget_list *list);

#endif
