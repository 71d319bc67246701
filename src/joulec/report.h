/* joulec/report.h - what is said of a judged translation unit: messages for people, JSON for programs.
 *
 * Owns words, codes and keys. Newcomers: a message is for a place in the source, as a compiler's; codes stay what they are.
 */
#ifndef JOULEC_REPORT_H
#define JOULEC_REPORT_H

#include "joulec/analysis.h"
#include "base/string.h"

struct report_policy {
    bool is_strict;      /* what is not proved is an error */
    double whole_joules; /* limit of all functions together; NaN: none */
};

/* What a build makes of it. */
enum outcome { OUTCOME_GOOD, OUTCOME_VIOLATED, OUTCOME_UNDECIDED };

/* Messages for all that has something to be said of. */
enum outcome report_messages(const struct analysis *analysis, const char *source,
                             const struct report_policy *policy, struct text *out);
/* One object, docs/joulec.schema.json. */
void report_functions_json(const struct analysis *analysis, const char *source, struct text *out);

#endif
