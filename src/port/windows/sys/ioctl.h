/* port/windows/sys/ioctl.h - an ioctl that always fails, so the terminal's width is unknown. */
#ifndef PORT_IOCTL_H
#define PORT_IOCTL_H

#define TIOCGWINSZ 0

struct winsize {
    unsigned short ws_row, ws_col;
};

static inline int ioctl(int fd, int request, struct winsize *out_size)
{
    (void)fd, (void)request;
    *out_size = (struct winsize){0};
    return -1;
}

#endif
