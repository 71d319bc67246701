/* tools/forge/energy_table.h - prints the table of a training's joules, by layer and operation.
 *
 * Note: joules between operations (loading, testing, waiting) and joules that could not be attributed have
 * rows of their own, so the rows add up to the total in the heading.
 */
#ifndef FORGE_ENERGY_TABLE_H
#define FORGE_ENERGY_TABLE_H

#include <forge/energy.h>
#include <stdio.h>

/* Prints the table of an instance whose joules were counted. Each run processes `units` of what `unit`
 * names, such as 128 "samples". */
void energy_table_print(forge_instance *instance, double units, const char *unit, FILE *to);

/* Returns what the energy includes: basis_text for people ("by the whole machine"), basis_name for JSON
 * ("machine", or NULL if unknown). Static storage. */
const char *basis_text(forge_energy_basis basis);
const char *basis_name(forge_energy_basis basis);

#endif
