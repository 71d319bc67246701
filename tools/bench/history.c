/* bench/history.c - `joule history`: lists, shows and deletes stored benchmarks. */
#include "commands.h"

int history_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return 0;
}
