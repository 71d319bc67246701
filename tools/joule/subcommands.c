/* tools/joule/subcommands.c - the program's subcommands.
 *
 * Owns their table; each lives in a file of its own and reads its own options, and common/front_door.c chooses.
 * Newcomers: a new subcommand is one line in the table below.
 */
#include <stddef.h>
#include "commands.h"
#include "companion.h"

const char subcommand_hint[] = "To measure a command: joule run --";

const struct subcommand subcommands[] = {
    {"run", run_main, "run a command and say how many joules it took"},
    {"record", record_main, "run a command and keep every reading in a file"},
    {"report", report_main, "print what a record holds"},
    {"devices", devices_main, "list what can be measured here, and how"},
    {"doctor", doctor_main, "say what would make the figures better here"},
    {"calibrate", calibrate_main, "measure this machine's core, for joulec's figures"},
    {"top", companion_main, "show what devices and processes take, as it happens"},
    {"serve", companion_main, "answer Prometheus, and show it all on a page"},
    {NULL, NULL, NULL},
};
