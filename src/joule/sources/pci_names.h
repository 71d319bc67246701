/* joule/sources/pci_names.h - product names of PCI devices, from the lists that distributions install.
 *
 * Note: nothing is downloaded. A machine without these lists has only the names that its drivers report.
 */
#ifndef JOULE_PCI_NAMES_H
#define JOULE_PCI_NAMES_H

#include "joule/sources/pci.h"

/* Writes the product name of the board with these ids, such as "AMD Radeon RX 7900 XTX". revision: -1 if
 * unknown. Returns false, and leaves `out_name` unchanged, if no list contains the device. */
bool pci_find_name(struct joule_host *host, uint32_t vendor, uint32_t device, int32_t revision,
                   char *out_name, size_t size);

#endif
