/* tools/joulec/check/other_languages.h - finds budgets in sources that are not C, which joulec does not
 * check.
 *
 * Note: sources without budgets are built by clang without a message, because most projects contain such
 * sources.
 */
#ifndef CHECK_OTHER_LANGUAGES_H
#define CHECK_OTHER_LANGUAGES_H

#include "arguments.h"

/* Returns true if the file's text contains the word JOULE_BUDGET. */
bool other_languages_may_have_budget(const char *path);
/* Returns true after a message if a source, and not only one of its headers, contains a budget. The message
 * names the first such source. */
bool other_languages_have_budget(struct arena *arena, const struct arguments *arguments);

#endif
