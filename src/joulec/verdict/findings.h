/* joulec/verdict/findings.h - lists the findings about an analysed translation unit, independent of their
 * output format.
 *
 * Messages, SARIF and annotations for CI print the same findings. Note: a new kind of finding needs a new
 * rule in rules.c. Codes of rules never change.
 */
#ifndef JOULEC_FINDINGS_H
#define JOULEC_FINDINGS_H

#include <joule/quantity.h>
#include "base/string.h"
#include "joule/sources/cpu/cpu_calibration.h"
#include "joulec/verdict/analysis.h"
#include "joulec/verdict/comparison.h"

/* The analysis to print, with options. It is the context of page_print_fn (tools/common/page.h). */
struct judged {
    const struct analysis *analysis;
    const char *source; /* path as the user named it */
    bool is_strict;     /* a budget that is not proved is an error */
    bool advises_all;   /* advice is also given for functions without a budget */
    const char *text;   /* preprocessed source; NULL: not needed */
    /* Absolute path of the folder to which paths in reports are relative. NULL: paths stay as they are. */
    const char *root;
    const struct cpu_calibration *calibration; /* calibration of this machine; NULL: not searched for */
    const char *build; /* options of the command line that determine the code; NULL: none */
    const struct comparisons *comparisons; /* comparison with a stored report; NULL: none was given */
};

enum rule {
    RULE_JOULES,
    RULE_WATTS,
    RULE_TEMPERATURE,
    RULE_UNDECIDED,
    RULE_BAD_BUDGET,
    RULE_BAD_MARK,
    RULE_VACUOUS,
    RULE_UNUSED_MARK,
    RULE_GPU_KERNEL,
    RULE_STALE,
    RULE_PROFILE,
    RULE_FOREIGN,
    RULE_LEVEL,
    RULE_THREADS,
    RULE_GROWN,
    RULE_GROWN_UNDECIDED,
    RULE_OTHER_BASELINE,
    RULE_LOOP_ORDER, /* the rules from here on are advice, in the order of enum advice_kind */
    RULE_STRIDE,
    RULE_ALLOCATION,
    RULE_GROWTH,
    RULE_OVERLAP,
    RULES
};

/* The texts of a rule. */
struct rule_words {
    const char *id, *name;
    const char *summary;     /* one sentence */
    const char *description; /* states when the rule is violated */
    const char *help;        /* states how to fix a violation */
    /* findings of this rule are errors by default; --energy-policy=strict turns more findings into errors */
    bool is_error;
};
/* Returns the static texts of a rule. */
const struct rule_words *rule_words(enum rule rule);
/* Returns true if findings of the rule suggest an improvement, and false if they report a fault. */
static inline bool rule_is_advice(enum rule rule)
{
    return rule >= RULE_LOOP_ORDER;
}

/* One finding about a function, a mark or the file. */
struct finding {
    const struct judged *judged;
    const struct function_result *result; /* analysis.whole if the finding is not about one function */
    enum rule rule;
    bool is_error, is_note;      /* both false: the finding is a warning */
    struct source_place name;    /* place of the function's name, of the mark, or of the advice */
    uint32_t mark;               /* index in options.marks; MARK_NONE: the finding is not about a mark */
    const struct advice *advice; /* NULL: the finding is not advice */
    /* Comparison with a stored report. NULL: the finding is not about a comparison. */
    const struct growth *comparison;
    /* The following members are set only for findings about a limit; otherwise they are NULL or 0. */
    const char *what; /* "max_joules" */
    joule_dimension dimension;
    const struct figure *figure;
    const struct limit *limit;
};

/* Calls each() for every finding: first those about the file, then those about its functions, in the
 * functions' order. */
void findings_each(const struct judged *judged, void (*each)(void *context, const struct finding *finding),
                   void *context);
/* Writes the message: one line, without a newline. */
void finding_say(const struct finding *finding, struct text *out);
/* Returns true if finding_budget and finding_estimate write anything for this finding. */
bool finding_has_estimate(const struct finding *finding);
/* Write the budget, such as "max_joules = 2 uJ", and the estimate, such as "3.4 uJ  (2.1 uJ to 6 uJ,
 * ...)". */
void finding_budget(const struct finding *finding, struct text *out);
void finding_estimate(const struct finding *finding, struct text *out);
/* Writes the name of the price table, and whether the table was measured on this machine. */
void finding_table(const struct judged *judged, struct text *out);

/* A text that explains a figure, or names a part of the work that has no bound and states how to bound it. */
struct note {
    struct source_place place; /* file NULL: none */
    bool is_line;              /* messages quote the source line */
    char words[512];
};
/* Calls each() for the notes of a finding. The note is valid during the call. */
void finding_notes(const struct finding *finding, void (*each)(void *context, const struct note *note),
                   void *context);

#endif
