/* tools/common/options.h - options of subcommands: one table gives the parser and the help.
 *
 * Owns reading "--name VALUE", "--name=VALUE", "-n VALUE" and "-nVALUE", the messages about what is wrong with them,
 * and the text of --help. Quantities take units ("500J", "100ms").
 * Newcomers: the first operand, or "--", ends the options, so that a command's own options stay its own.
 */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stddef.h>

/* Exit codes of `joule` that are not the command's own, and of `forge`. */
enum {
    EXIT_OVER_BUDGET = 124, /* the budget was passed, as timeout(1) says when time is up */
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
    OPTION_NUMBER, /* double *, 0 and more, without a unit */
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
    const char *notes;   /* below the options; NULL: none */
};

/* Reads the options in argv[1..]. The index of the first operand (argc: none); OPTIONS_HELP after --help was printed
 * to stdout; OPTIONS_WRONG after a message went to stderr. argv[0] is the subcommand's name. */
enum { OPTIONS_HELP = 0, OPTIONS_WRONG = -1 };
int options_read(const struct option *table, const struct command_text *text, int argc, char **argv);

/* The same for a subcommand with one operand, which may stand before, between and after the options; `what` it is, such as
 * "FILE", is for the message where it is missing. 1, OPTIONS_HELP or OPTIONS_WRONG. Changes the order of argv. */
int options_read_operand(const struct option *table, const struct command_text *text, const char *what,
                         int argc, char **argv, const char **out_operand);

/* The program's own name, as messages begin; each main.c defines it. */
extern const char tool_name[];

/* "PROGRAM SUBCOMMAND: message" on stderr, in one write. */
void complain(const char *subcommand, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
