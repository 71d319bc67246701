/* joulec/report/report.h - prints an analysed translation unit: messages, JSON, SARIF, HTML, costed blocks,
 * annotations for CI.
 *
 * Functions with a `const void *` are page_print_fn (tools/common/page.h); `judged` is a struct judged.
 */
#ifndef JOULEC_REPORT_H
#define JOULEC_REPORT_H

#include "joulec/verdict/findings.h"

/* Result of a check, from which the exit code follows. */
enum outcome { OUTCOME_GOOD, OUTCOME_VIOLATED, OUTCOME_UNDECIDED };
/* Returns the worse of two: violated, undecided, good. */
enum outcome outcome_worse(enum outcome a, enum outcome b);
enum outcome report_outcome(const struct judged *judged);
/* Messages about all findings. */
void report_messages(const void *judged, struct text *out);
/* The same with warnings as errors, and without warnings. */
void report_messages_as_errors(const void *judged, struct text *out);
void report_messages_without_warnings(const void *judged, struct text *out);
bool report_has_warnings(const struct judged *judged);
/* One JSON object (docs/joulec.schema.json) and a newline. */
void report_object(const void *judged, struct text *out);

/* The preprocessed source with comments above functions and loops; it remains valid C. */
void report_c(const void *judged, struct text *out);
/* Each function as blocks and loops with their costs. */
void report_eir(const void *judged, struct text *out);
/* One line for each function, and the sum. */
void report_lift(const void *judged, struct text *out);

/* HTML: the head of the page once, then for each source its lines with a bar for each. */
void report_html_begin(const void *nothing, struct text *out);
void report_html(const void *judged, struct text *out);

/* SARIF: the beginning, the results of each source with a comma before each result, and the end. */
struct sarif_log {
    const char *root;           /* absolute path of the current folder */
    const char *const *refused; /* sources that clang rejects */
    size_t refused_count;
};
void report_sarif_begin(const void *log, struct text *out);
void report_sarif(const void *judged, struct text *out);
void report_sarif_end(const void *log, struct text *out);

/* A workflow command of GitHub for each finding. */
void report_github(const void *judged, struct text *out);
/* Objects of GitLab's code quality report, with a comma before each. */
void report_gitlab(const void *judged, struct text *out);
/* Returns a hash of file, function and rule, which stays the same if the lines move. */
uint64_t report_fingerprint(const struct finding *finding);

#endif
