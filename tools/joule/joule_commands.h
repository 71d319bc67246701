/* tools/joule/joule_commands.h - the subcommands of `joule`. Each gets its own name as argv[0] and returns
 * the exit code. */
#ifndef JOULE_COMMANDS_H
#define JOULE_COMMANDS_H

#include "common/subcommand.h"

extern const struct subcommand subcommands[];
extern const char subcommand_hint[]; /* printed before the word in the message about an unknown subcommand */

int run_main(int argc, char **argv);
int record_main(int argc, char **argv);
int report_main(int argc, char **argv);
int devices_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int calibrate_main(int argc, char **argv); /* calibrate/joule_calibrate.c */

#endif
