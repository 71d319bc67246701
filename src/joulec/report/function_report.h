/* joulec/report/function_report.h - prints an analysed translation unit: messages, JSON, SARIF, HTML, costed
 * blocks, annotations for CI.
 *
 * Note: functions with an argument `const void *` have the type page_print_fn (tools/common/page.h). The
 * argument `judged` points to a struct judged.
 */
#ifndef JOULEC_FUNCTION_REPORT_H
#define JOULEC_FUNCTION_REPORT_H

#include "joulec/verdict/findings.h"

/* Result of a check, from which the exit code follows. */
enum outcome { OUTCOME_GOOD, OUTCOME_VIOLATED, OUTCOME_UNDECIDED };
/* Returns the worse of two outcomes. Violated is worse than undecided, and undecided is worse than good. */
enum outcome outcome_worse(enum outcome a, enum outcome b);
/* Returns the worst outcome of all marks, functions and comparisons, and of the whole file. */
enum outcome report_outcome(const struct judged *judged);
/* Prints messages about all findings. */
void report_messages(const void *judged, struct text *out);
/* Print the messages with warnings as errors (-Werror), or without warnings (-w). */
void report_messages_as_errors(const void *judged, struct text *out);
void report_messages_without_warnings(const void *judged, struct text *out);
/* Returns true if report_messages_as_errors turns any warning into an error. */
bool report_has_warnings(const struct judged *judged);
/* Prints one JSON object (docs/joulec.schema.json) and a newline. */
void report_object(const void *judged, struct text *out);

/* Prints the preprocessed source with added comments above functions and loops. The output is valid C. */
void report_c(const void *judged, struct text *out);
/* Prints each function as blocks and loops with their costs. */
void report_eir(const void *judged, struct text *out);
/* Prints one line for each function, and the sum. */
void report_lift(const void *judged, struct text *out);

/* Print an HTML page. report_html_begin prints the head of the page. report_html prints the lines of one
 * source with bars of joules. */
void report_html_begin(const void *nothing, struct text *out);
void report_html(const void *judged, struct text *out);

/* Argument of report_sarif_begin and report_sarif_end, which print the beginning and the end of the log.
 * report_sarif prints the results of one source, with a comma before each result. */
struct sarif_log {
    const char *root;           /* absolute path of the current folder */
    const char *const *refused; /* sources that clang rejects */
    size_t refused_count;
};
void report_sarif_begin(const void *log, struct text *out);
void report_sarif(const void *judged, struct text *out);
void report_sarif_end(const void *log, struct text *out);

/* Prints a workflow command of GitHub for each finding. */
void report_github(const void *judged, struct text *out);
/* Prints the objects of GitLab's code quality report, with a comma before each object. */
void report_gitlab(const void *judged, struct text *out);
/* Returns a hash that identifies a finding. It includes the finding's file, function and rule, and further
 * members if these three are not unique. It does not depend on line numbers. */
uint64_t report_fingerprint(const struct finding *finding);

#endif
