/* tools/common/options.h - parses the options of a subcommand and prints its help, both from one table.
 *
 * Accepts "--name VALUE", "--name=VALUE", "-n VALUE" and "-nVALUE". Quantities have units ("500J", "100ms").
 *
 * Note: parsing stops at the first operand or at "--". Options after a measured command therefore belong to
 * that command.
 */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Exit codes of `forge`, and of `joule` where it does not return the measured command's own code. */
enum {
    EXIT_OVER_BUDGET = 124, /* the budget was exceeded; 124 as in timeout(1) */
    EXIT_OWN_FAILURE = 125, /* the program itself failed */
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_USAGE = 2,
};

/* Kinds of options, each with the type of the variable that it sets. */
enum option_kind {
    OPTION_FLAG,   /* bool * */
    OPTION_TEXT,   /* const char ** */
    OPTION_COUNT,  /* unsigned *, 1 to 1000000 */
    OPTION_PID,    /* unsigned *, 1 to INT_MAX */
    OPTION_NUMBER, /* double *, 0 or more, without a unit */
    OPTION_ENERGY, /* double *, joules, more than 0 */
    OPTION_TIME,   /* double *, seconds, more than 0 */
    OPTION_LIST,   /* struct option_list *; the option may be repeated */
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
    void *value;          /* variable to set; `kind` determines its type */
    const char *argument; /* name of the value in the help, such as "FILE"; NULL: a flag */
    const char *help;
};

struct command_text {
    const char *usage;   /* "joule run [OPTIONS] [--] COMMAND [ARGUMENT...]" */
    const char *summary; /* one sentence */
    const char *notes;   /* printed below the options; NULL: none */
};

/* Parses the options in argv[1..]; argv[0] is the subcommand's name. Returns the index of the first operand
 * (argc: none), OPTIONS_HELP after printing the help to stdout, or OPTIONS_WRONG after a message to stderr.
 * Text values point into argv. */
enum { OPTIONS_HELP = 0, OPTIONS_WRONG = -1 };
int options_read(const struct option *table, const struct command_text *text, int argc, char **argv);

/* Like options_read, for a subcommand with exactly one operand, which may be before, between or after the
 * options. Returns 1, OPTIONS_HELP or OPTIONS_WRONG. Sets *out_operand to the operand and replaces its entry
 * in argv by argv[0]. `what` names the operand in messages, such as "FILE". */
int options_read_operand(const struct option *table, const struct command_text *text, const char *what,
                         int argc, char **argv, const char **out_operand);

/* An operand of a subcommand. */
struct program_operand {
    const char *name;   /* in messages: "FILE" */
    const char **value; /* variable to set; unchanged if the operand is not given */
    bool is_optional;   /* it may be absent, and so may all operands after it */
};
/* Like options_read_operand, for up to `count` operands. Replaces the entries of the operands in argv. All
 * arguments after "--" are operands. */
int options_read_operands(const struct option *table, const struct command_text *text,
                          const struct program_operand *operands, size_t count, int argc, char **argv);

/* The program's name, which is the first word of each message. Each program's main.c defines it. */
extern const char tool_name[];

/* Writes "PROGRAM SUBCOMMAND: message" to stderr with one write(2). `subcommand` "": the program has none.
 * Control characters and invalid UTF-8 become '?'. A message longer than 799 bytes is cut. */
void complain(const char *subcommand, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
