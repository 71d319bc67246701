/* joule/sources/sysfs.h - functions that read and parse sysfs attributes of hwmon, power_supply, thermal and
 * PCI devices.
 *
 * Note: a number that does not fit the buffer is an error; its first digits are not used. */
#ifndef JOULE_SYSFS_H
#define JOULE_SYSFS_H

#include "joule/sources/source.h"

/* Reads the whole number in an open attribute. Returns FAILED if the text is not exactly a number. Converts a
 * read error with status_of_errno. */
joule_status sysfs_read_i64(struct joule_host *host, int handle, int64_t *out_value);

/* Reads an attribute's text, trimmed, with unprintable bytes replaced by '?'. Returns false, with an empty
 * text, if the attribute is empty or cannot be read. */
bool sysfs_read_text(struct source *source, const char *path, char *out_text, size_t size);

/* Splits "power12_average" into kind "power", number 12 and suffix "average". Returns false for a file of
 * another kind. */
bool sysfs_parse_attribute(const char *file, const char *kind, unsigned *out_number, const char **out_suffix);

/* Parses a text that is `prefix` and a number, such as "Chip 8". Returns false for any other text. */
bool sysfs_parse_numbered(const char *text, const char *prefix, unsigned *out_number);

/* Writes `text` as a name. Lower-case letters, digits, dots and colons are copied, and capitals become
 * lower-case letters. Each run of other characters becomes one '-', or nothing at the beginning and the
 * end. */
void sysfs_slug(char *out_name, size_t size, const char *text);

/* Writes the value of "KEY=value" from lines such as those of `uevent`. Returns false, with an empty value,
 * if no line has the key. */
bool sysfs_find_value(const char *lines, const char *key, char *out_value, size_t size);

/* Writes the last PCI address in a link's path, such as "0000:03:00.0"; earlier addresses are those of
 * bridges. Leaves out_address unchanged if the path contains no address. */
#define SYSFS_PCI_SIZE 16
void sysfs_find_pci(const char *link, char out_address[SYSFS_PCI_SIZE]);

/* Returns true if there are GPUs of this PCI vendor (such as "0x10de") and all of them are suspended.
 * Starting the vendor's library would wake them. */
bool sysfs_gpus_are_suspended(struct source *source, const char *vendor);

#endif
