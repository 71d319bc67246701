/* tools/joulec/check/other_languages.h - finds budgets in sources that are not C, which joulec does not
 * check.
 *
 * Note: sources without budgets are built by clang without a message, because most projects have some.
 */
#ifndef CHECK_OTHER_LANGUAGES_H
#define CHECK_OTHER_LANGUAGES_H

#include "arguments.h"

/* Returns true if the file's text contains JOULE_BUDGET. Fast, because most files have none. */
bool other_languages_may_have_budget(const char *path);
/* Returns true, after a message about the first one, if a source has a budget in its own text, which would
 * remain unchecked. */
bool other_languages_have_budget(struct arena *arena, const struct arguments *arguments);

#endif
