/* joule - the program. Owns the choice of a subcommand; each lives in a file of its own. */
#include <stdio.h>

int main(void)
{
    fputs("joule: no subcommand yet\n", stderr);
    return 2;
}
