/* tools/joulec/budget_scan.h - finds out whether a source can have anything that joulec judges.
 *
 * Note: it reads every file that an #include could name, ignoring #if, so that it misses no budget. A source
 * without budgets needs no second compilation.
 */
#ifndef JOULEC_BUDGET_SCAN_H
#define JOULEC_BUDGET_SCAN_H

#include "arguments.h"

/* Returns true if the command requests only verdicts of budgets. A SARIF or GitLab log needs more: it also
 * reports whether clang accepts the source. */
bool budget_scan_is_enough(const struct arguments *arguments);
/* Returns false if neither the source, nor a file that it may include, nor an option of clang contains an
 * annotation, pragma or macro of <joule/budget.h>. */
bool budget_scan_finds(const struct arguments *arguments, const char *source);
/* The same for any of several sources, in C and in other languages. */
bool budget_scan_finds_any(const struct arguments *arguments);

#endif
