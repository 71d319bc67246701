/* tools/forge/ledger.h - what a training has cost, by layer and operation.
 *
 * Owns the table. Newcomers: the machine's joules are shared out by the time of each operation; what was used between
 * operations (loading, testing, waiting) is a line of its own, so that the lines add up to what the meter saw.
 */
#ifndef FORGE_LEDGER_H
#define FORGE_LEDGER_H

#include <forge/program.h>
#include <stdio.h>

/* `joules` of `seconds`, in which the instance ran. */
void ledger_print(const forge_instance *instance, joule_quantity joules, double seconds, FILE *to);

#endif
