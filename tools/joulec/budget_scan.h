/* tools/joulec/budget_scan.h - whether a source can have anything that joulec judges.
 *
 * Note: it reads every file that an #include could mean, whatever #if says, so that it overlooks no budget. A
 * file that has none costs no second compilation.
 */
#ifndef JOULEC_BUDGET_SCAN_H
#define JOULEC_BUDGET_SCAN_H

#include "arguments.h"

/* Whether the command asks for nothing but verdicts of budgets. A log of SARIF or GitLab is more: it says,
 * too, whether clang takes the source. */
bool budget_scan_is_enough(const struct arguments *arguments);
/* False: no word of joule's is in the source, in any file that it may include, or in an option of clang. */
bool budget_scan_finds(const struct arguments *arguments, const char *source);
/* The same of any of the sources, in C and in other languages. */
bool budget_scan_finds_any(const struct arguments *arguments);

#endif
