/* joulec/report/report.h - what is said of a judged translation unit: messages for people, JSON for programs, and what CI
 * reads.
 *
 * Owns words, codes and keys. Newcomers: a message is for a place in the source, as a compiler's; codes stay what they are.
 */
#ifndef JOULEC_REPORT_H
#define JOULEC_REPORT_H

#include "joulec/verdict/findings.h"

/* What a build makes of it. */
enum outcome { OUTCOME_GOOD, OUTCOME_VIOLATED, OUTCOME_UNDECIDED };
/* Of two; what is violated is worse than what nobody can decide. */
enum outcome outcome_worse(enum outcome a, enum outcome b);
enum outcome report_outcome(const struct judged *judged);
/* Messages for all that has something to be said of. */
void report_messages(const void *judged, struct text *out);
/* The same with warnings as errors, and without warnings. */
void report_messages_as_errors(const void *judged, struct text *out);
void report_messages_but_warnings(const void *judged, struct text *out);
bool report_has_warnings(const struct judged *judged);
/* One object, docs/joulec.schema.json, and the end of its line. */
void report_object(const void *judged, struct text *out);

/* The preprocessed source, with remarks above functions and loops; it is still C. */
void report_c(const void *judged, struct text *out);
/* Each function as costed blocks and loops. */
void report_eir(const void *judged, struct text *out);
/* A line for each function, and their sum. */
void report_lift(const void *judged, struct text *out);

/* A part of a page of HTML, behind its beginning: the source with a bar for each line. */
void report_html_begin(const void *nothing, struct text *out);
void report_html(const void *judged, struct text *out);

/* A log of SARIF: between its beginning and its end the results of each source, a comma before each. */
struct sarif_log {
    const char *root;           /* the folder in which joulec runs, absolute */
    const char *const *refused; /* sources that clang refuses */
    size_t refused_count;
};
void report_sarif_begin(const void *log, struct text *out);
void report_sarif(const void *judged, struct text *out);
void report_sarif_end(const void *log, struct text *out);

/* A workflow command of GitHub for each finding. */
void report_github(const void *judged, struct text *out);
/* Objects of GitLab's code quality report, a comma before each. */
void report_gitlab(const void *judged, struct text *out);
/* The same for one finding while its file, function and rule stay the same, wherever they move. */
uint64_t report_fingerprint(const struct finding *finding);

#endif
