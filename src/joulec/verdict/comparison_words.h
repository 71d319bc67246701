/* joulec/verdict/comparison_words.h - texts about a function that differs from a stored report. */
#ifndef JOULEC_COMPARISON_WORDS_H
#define JOULEC_COMPARISON_WORDS_H

#include "joulec/verdict/findings.h"

/* Returns the ratio as text, such as "+42 %" or "0 %". A ratio of 2 or more is written as "3.5 times".
 * Returns "no limit" if the ratio is NaN. */
struct words ratio_words(double ratio);
/* Writes the message of a finding of RULE_GROWN, RULE_GROWN_UNDECIDED or RULE_OTHER_BASELINE: one line,
 * without a newline. */
void comparison_say(const struct finding *finding, struct text *out);
/* Write the stored figure, as in "1.9 nJ before, limit +5 %", and the figure of this run, as in "2.7 nJ now,
 * +42 %  (+40 % to +44 %, 90 %: ...)". */
void comparison_say_before(const struct finding *finding, struct text *out);
void comparison_say_now(const struct finding *finding, struct text *out);
/* Calls each() with notes that explain the difference. */
void comparison_notes(const struct finding *finding, void (*each)(void *context, const struct note *note),
                      void *context);
/* Returns true if the stored figures are from a build with other options, or from another release of joulec,
 * than the figures of this run. */
bool comparisons_differ(const struct comparisons *comparisons);

#endif
