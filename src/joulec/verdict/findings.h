/* joulec/verdict/findings.h - what is wrong with a judged translation unit, as a list, before anybody prints it.
 *
 * Owns the rules with their codes and words, which of them a verdict breaks, and the notes that explain it. Messages, SARIF and
 * the annotations of CI print the same findings. Newcomers: a new kind of message is a row among the rules; codes stay what
 * they are.
 */
#ifndef JOULEC_FINDINGS_H
#define JOULEC_FINDINGS_H

#include <joule/quantity.h>
#include "base/string.h"
#include "joule/sources/cpu/cpu_calibration.h"
#include "joulec/verdict/analysis.h"
#include "joulec/verdict/comparison.h"

/* What is printed, as pages are (tools/common/page.h). */
struct judged {
    const struct analysis *analysis;
    const char *source; /* as it was named */
    bool is_strict;     /* what is not proved is an error */
    bool advises_all;   /* advice also for functions without a budget */
    const char *text;   /* what the preprocessor makes of it; NULL: nobody asked for it */
    const char
        *root; /* the folder from which reports name files, absolute; NULL: files are named as they are */
    const struct cpu_calibration *calibration; /* of the machine; NULL: not looked for */
    const char *simulator_cpu;                 /* what llvm-mca took the core for; NULL: it was not asked */
    unsigned simulator_version;                /* LLVM's release */
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
    RULE_LOOP_ORDER, /* from here on: advice, in its own order */
    RULE_STRIDE,
    RULE_ALLOCATION,
    RULE_GROWTH,
    RULE_OVERLAP,
    RULES
};

struct rule_words {
    const char *id, *name;
    const char *summary;     /* a sentence */
    const char *description; /* when it is broken */
    const char *help;        /* what to do */
    bool is_error;           /* of itself; strict makes others one */
};
const struct rule_words *rule_words(enum rule rule);
/* Nothing is wrong; something could be better. */
static inline bool rule_is_advice(enum rule rule)
{
    return rule >= RULE_LOOP_ORDER;
}

struct finding {
    const struct judged *judged;
    const struct function_result *result; /* the file's, where it is about no function */
    enum rule rule;
    bool is_error, is_note;          /* neither: a warning */
    struct source_place name;        /* line of the function, or of the mark */
    uint32_t mark;                   /* kind of the mark; MARK_NONE: the finding is about a function */
    const struct advice *advice;     /* NULL: it is none */
    const struct growth *comparison; /* comparison with a stored report; NULL: it is about none */
    /* Of a limit, else NULL. */
    const char *what; /* "max_joules" */
    joule_dimension dimension;
    const struct figure *figure;
    const struct limit *limit;
};

/* In the order of the functions. */
void findings_each(const struct judged *judged, void (*each)(void *context, const struct finding *finding),
                   void *context);
/* What is wrong, in one line without an end. */
void finding_say(const struct finding *finding, struct text *out);
/* Whether it is an estimate that matters, and so the next two have something to say. */
bool finding_has_estimate(const struct finding *finding);
/* "max_joules = 2 uJ" and "3.4 uJ  (2.1 uJ to 6 uJ, ...)" of a limit. */
void finding_budget(const struct finding *finding, struct text *out);
void finding_estimate(const struct finding *finding, struct text *out);
/* Where the figures come from, with the code of what makes them unsure. */
void finding_table(const struct judged *judged, struct text *out);

/* Where a figure comes from, or why there is no better one. */
struct note {
    struct source_place place; /* file NULL: none */
    bool is_line;              /* the line says more than the words */
    char words[512];
};
void finding_notes(const struct finding *finding, void (*each)(void *context, const struct note *note),
                   void *context);

#endif
