/* joule/sources/sysfs.h - what the readers of hwmon, power_supply and thermal attributes share.
 *
 * Owns the reading of one number from an open attribute, the splitting of attribute names ("power1_input") and the
 * making of names for people from whatever a driver calls its chip. It opens nothing and keeps nothing.
 * Newcomers: a number that does not fit the buffer is garbage, not its first digits.
 */
#ifndef JOULE_SYSFS_H
#define JOULE_SYSFS_H

#include "joule/sources/source.h"

/* The whole number in an open attribute. FAILED for text that is not wholly a number; else as status_of_errno. */
joule_status sysfs_read_i64(struct joule_host *host, int handle, int64_t *out_value);

/* Trimmed text of an attribute, bytes that cannot be printed replaced by '?'; false, and empty, without any. */
bool sysfs_text(struct source *source, const char *path, char *out_text, size_t size);

/* Splits "power12_average" into kind "power", number 12 and suffix "average"; false for another kind. */
bool sysfs_split(const char *file, const char *kind, unsigned *out_number, const char **out_suffix);

/* The number behind `prefix` when that is all that follows ("Chip 8"); false for any other text. */
bool sysfs_numbered(const char *text, const char *prefix, unsigned *out_number);

/* Lower-case letters, digits, dots and colons of `text`; every other run becomes one '-', none at the ends. */
void sysfs_slug(char *out_name, size_t size, const char *text);

/* The value of "KEY=value" in a text of such lines, as `uevent` is one. False, and empty, without one. */
bool sysfs_value_of(const char *lines, const char *key, char *out_value, size_t size);

/* The innermost PCI address in a link's path, "0000:03:00.0"; outer ones are bridges. Without one out_address stays. */
#define SYSFS_PCI_SIZE 16
void sysfs_find_pci(const char *link, char out_address[SYSFS_PCI_SIZE]);

/* True when there are GPUs of this PCI vendor ("0x10de") and all of them are powered down: starting the vendor's library
 * would wake them. */
bool sysfs_gpus_sleep(struct source *source, const char *vendor);

#endif
