/* tools/joulec/budget_scan.h - finds whether a source may contain anything that joulec judges.
 *
 * A source without budgets needs no second compilation. Note: the scan reads every file that an #include may
 * name, also in parts that #if excludes, so that it misses no budget.
 */
#ifndef JOULEC_BUDGET_SCAN_H
#define JOULEC_BUDGET_SCAN_H

#include "arguments.h"

/* Returns true if the command requests only verdicts of budgets, so that sources without budgets need no
 * check. Returns false for a SARIF or GitLab log, because such a log also reports whether clang accepts a
 * source. */
bool budget_scan_is_enough(const struct arguments *arguments);
/* Returns true if an annotation, pragma or macro of <joule/budget.h> may be in the source, in a file that it
 * may include, or in an option of clang. */
bool budget_scan_finds(const struct arguments *arguments, const char *source);
/* Returns true if budget_scan_finds returns true for a source of the command, in C or in another language. */
bool budget_scan_finds_any(const struct arguments *arguments);

#endif
