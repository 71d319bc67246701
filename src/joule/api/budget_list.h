/* joule/api/budget_list.h - the running budgets of a meter, which are checked after each round of readings.
 *
 * Note: notifications act on the best estimate (near from 80 %, exceeded above 100 %). Waiting until the
 * excess is certain would overrun every budget. The status in results also uses the interval of the joules.
 */
#ifndef JOULE_BUDGET_LIST_H
#define JOULE_BUDGET_LIST_H

#include <joule/budget.h>
#include <stdbool.h>

struct budget_list;

/* Creates an empty list and adds it to the meter's listeners. The meter owns the list, and frees it with all
 * budgets that were not ended. After each round the list also checks the scopes with a budget
 * (budget_scope.h). Returns false if out of memory. */
bool budget_list_create(joule_meter *meter);
/* Returns the meter's list, or NULL if it has none. The meter owns the list. */
struct budget_list *budget_list_of(joule_meter *meter);
/* Updates every budget and calls its notify function if its status got worse. Does nothing if another check
 * is running, for example if a budget's callback takes a reading. */
void budget_list_check(struct budget_list *list);

#endif
