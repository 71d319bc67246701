/* tools/joule/elsewhere/subcommands.c - the subcommands on macOS and Windows; replaces ../subcommands.c.
 *
 * Note: measuring a command needs Linux to count the work of its descendants. On other systems programs
 * measure themselves with libjoule.
 */
#include <stddef.h>
#include "../joule_commands.h"

const char subcommand_hint[] =
    "joule measures commands only on Linux. Available here: joule devices and libjoule, not";

const struct subcommand subcommands[] = {
    {"devices", devices_main, "list what can be measured on this machine (commands: only on Linux)"},
    {NULL, NULL, NULL},
};
