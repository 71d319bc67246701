/* joulec/report.h - what is said of a judged translation unit: messages for people, JSON for programs.
 *
 * Owns words, codes and keys. Newcomers: a message is for a place in the source, as a compiler's; codes stay what they are.
 */
#ifndef JOULEC_REPORT_H
#define JOULEC_REPORT_H

#include "joulec/findings.h"

/* What a build makes of it. */
enum outcome { OUTCOME_GOOD, OUTCOME_VIOLATED, OUTCOME_UNDECIDED };
enum outcome report_outcome(const struct judged *judged);
/* Messages for all that has something to be said of. */
void report_messages(const void *judged, struct text *out);
/* One object, docs/joulec.schema.json, and the end of its line. */
void report_json(const void *judged, struct text *out);

#endif
