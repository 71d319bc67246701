/* joulec/verdict/comparison_words.h - texts about a function that differs from a stored report. */
#ifndef JOULEC_COMPARISON_WORDS_H
#define JOULEC_COMPARISON_WORDS_H

#include "joulec/verdict/findings.h"

/* Writes "+42 %", "0 %", or "3.5 times" from a factor of 2; "no limit" if the ratio is NaN. */
struct words ratio_words(double ratio);
/* Writes the finding in one line; for RULE_GROWN, RULE_GROWN_UNDECIDED and RULE_OTHER_BASELINE. */
void comparison_say(const struct finding *finding, struct text *out);
/* "1.9 nJ then, limit +5 %" and "2.7 nJ now, +42 % (+40 % to +44 %, 90 %)". */
void comparison_say_before(const struct finding *finding, struct text *out);
void comparison_say_now(const struct finding *finding, struct text *out);
/* Writes where the difference comes from. */
void comparison_notes(const struct finding *finding, void (*each)(void *context, const struct note *note),
                      void *context);
/* Returns true if the stored figures come from another build or release than this run's. */
bool comparisons_differ(const struct comparisons *comparisons);

#endif
