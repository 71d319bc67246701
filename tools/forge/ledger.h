/* tools/forge/ledger.h - what a training has cost, by layer and operation.
 *
 * Owns the table. Newcomers: the machine's joules are shared out by the power that each operation was found to have; what
 * was used between operations (loading, testing, waiting) is a line of its own, so that the lines add up to what the
 * meter saw.
 */
#ifndef FORGE_LEDGER_H
#define FORGE_LEDGER_H

#include <forge/program.h>
#include <stdio.h>

/* Of an instance whose joules were counted, in runs of so many units each, such as "samples". */
void ledger_print(forge_instance *instance, double units, const char *unit, FILE *to);

#endif
