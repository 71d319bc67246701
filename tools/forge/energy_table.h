/* tools/forge/energy_table.h - prints a table of the energy of a training, by layer and operation.
 *
 * Note: the rows add up to the total in the heading. Separate rows show the joules between operations
 * (loading, testing, waiting) and the unattributed joules.
 */
#ifndef FORGE_ENERGY_TABLE_H
#define FORGE_ENERGY_TABLE_H

#include <forge/energy.h>
#include <stdio.h>

/* Prints the table of an instance whose energy was measured. Each run processes `units` items, which `unit`
 * names, such as 128 "samples". Prints nothing if out of memory. */
void energy_table_print(forge_instance *instance, double units, const char *unit, FILE *to);

/* Return a text about the work whose energy is included, in static storage. basis_text returns a phrase such
 * as "by the whole machine", and basis_name a value for JSON such as "machine" (NULL: unknown). */
const char *basis_text(forge_energy_basis basis);
const char *basis_name(forge_energy_basis basis);

#endif
