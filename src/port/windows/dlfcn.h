/* port/windows/dlfcn.h - libraries by name. Newcomers: a bare name is looked for in System32 alone, never beside the program. */
#ifndef PORT_DLFCN_H
#define PORT_DLFCN_H

#define RTLD_NOW   0
#define RTLD_LOCAL 0

void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);

#endif
