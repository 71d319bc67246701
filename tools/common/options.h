/* tools/common/options.h - options of subcommands: one table describes the parser and the help.
 *
 * Accepts "--name VALUE", "--name=VALUE", "-n VALUE" and "-nVALUE". Quantities have units ("500J", "100ms").
 *
 * Note: the first operand or "--" ends the options, so that a measured command keeps its own options.
 */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stddef.h>

/* Exit codes of `joule` that do not come from the measured command, and of `forge`. */
enum {
    EXIT_OVER_BUDGET = 124, /* the budget was exceeded; 124 as in timeout(1) */
    EXIT_OWN_FAILURE = 125, /* the program itself failed */
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_USAGE = 2,
};

enum option_kind {
    OPTION_FLAG,   /* bool * */
    OPTION_TEXT,   /* const char ** */
    OPTION_COUNT,  /* unsigned *, 1 to 1000000 */
    OPTION_PID,    /* unsigned *, 1 to INT_MAX */
    OPTION_NUMBER, /* double *, 0 or more, without a unit */
    OPTION_ENERGY, /* double *, joules, more than 0 */
    OPTION_TIME,   /* double *, seconds */
    OPTION_LIST,   /* struct option_list * */
};

#define OPTION_LIST_MAX 32
struct option_list {
    const char *items[OPTION_LIST_MAX];
    size_t count;
};

struct option {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* 0: none */
    enum option_kind kind;
    void *value;
    const char *argument; /* "FILE"; NULL for a flag */
    const char *help;
};

struct command_text {
    const char *usage;   /* "joule run [OPTIONS] [--] COMMAND [ARGUMENT...]" */
    const char *summary; /* one sentence */
    const char *notes;   /* printed below the options; NULL: none */
};

/* Reads the options in argv[1..]; argv[0] is the subcommand's name. Returns the index of the first operand
 * (argc: none), OPTIONS_HELP after printing the help to stdout, or OPTIONS_WRONG after a message to stderr.
 * Text values point into argv. */
enum { OPTIONS_HELP = 0, OPTIONS_WRONG = -1 };
int options_read(const struct option *table, const struct command_text *text, int argc, char **argv);

/* Like options_read, for a subcommand with exactly one operand, which may stand anywhere among the options.
 * `what` names the operand in messages, such as "FILE". Returns 1, OPTIONS_HELP or OPTIONS_WRONG. Reorders
 * argv. */
int options_read_operand(const struct option *table, const struct command_text *text, const char *what,
                         int argc, char **argv, const char **out_operand);

/* The program's name, with which messages begin; each main.c defines it. */
extern const char tool_name[];

/* Writes "PROGRAM SUBCOMMAND: message" to stderr in one write. */
void complain(const char *subcommand, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
