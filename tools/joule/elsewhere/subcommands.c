/* tools/joule/elsewhere/subcommands.c - the subcommands on macOS and Windows, in the place of ../subcommands.c.
 *
 * Newcomers: measuring a command takes Linux's ways to count what it and its descendants did; here programs measure themselves,
 * with libjoule.
 */
#include <stddef.h>
#include "../commands.h"

const char subcommand_hint[] =
    "joule measures commands only on Linux. Available here: joule devices and libjoule, not";

const struct subcommand subcommands[] = {
    {"devices", devices_main, "list what can be measured on this machine (commands: only on Linux)"},
    {NULL, NULL, NULL},
};
