"""What the filter refuses, by name, with the numbers of the kernel's headers: (x86-64, ARM64), None where there is no such call.

A call is refused when it reaches another process, a neighbour's socket or the kernel itself, when it takes memory or places
that no limit of a session counts, or when it could undo the filter.
"""

from typing import NamedTuple

Numbers = dict[str, tuple[int | None, int | None]]

REFUSED: Numbers = {
    # sockets: a pair may only talk with itself
    "socket": (41, 198), "bind": (49, 200), "connect": (42, 203), "listen": (50, 201), "accept": (43, 202),
    "accept4": (288, 242),
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # mounts and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "open_tree": (428, 428), "open_tree_attr": (467, 467), "move_mount": (429, 429),
    "fsopen": (430, 430), "fspick": (433, 433), "mount_setattr": (442, 442), "open_by_handle_at": (304, 265),
    # the kernel: its keys, its log, programs in it
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "syslog": (103, 116), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    # memory that no limit counts, some of it left for whoever comes later, and places of which the machine has few
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186),
    "semget": (64, 190), "mq_open": (240, 180), "io_setup": (206, 0), "landlock_create_ruleset": (444, 444),
    # a timer may continue a process that is stopped
    "timer_create": (222, 107),
}  # fmt: skip
"""In every session."""

AMONG_OTHERS: Numbers = {
    "setsid": (112, 157), "setpgid": (109, 154), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "move_pages": (279, 239), "migrate_pages": (256, 238), "inotify_init": (253, None), "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
}  # fmt: skip
"""Where a session sees other processes: signals, leaving the group, and what is counted together with the user's others."""

ON_SHARED_FILES: Numbers = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "utimensat": (280, 88), "futimesat": (261, None), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "setxattrat": (463, 463), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "removexattrat": (466, 466), "file_setattr": (469, 469), "truncate": (76, 45),
}  # fmt: skip
"""Where a session shares files and user with others: modes, owners, times, attributes, sizes by path."""

CLONE3 = 435
"""Its flags are out of a filter's sight: it is said not to exist, and libc then uses `clone`."""

CHECKED: Numbers = {
    "clone": (56, 220), "kill": (62, 129), "tgkill": (234, 131), "socketpair": (53, 199), "sendto": (44, 206),
    "setsockopt": (54, 208), "mmap": (9, 222), "prlimit64": (302, 261), "fcntl": (72, 25), "ioctl": (16, 29),
    "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
}  # fmt: skip
"""Those whose arguments decide."""


class Check(NamedTuple):
    """One argument of a call, after a mask, and the values with which alone it passes, or is refused."""

    call: str
    argument: int
    values: tuple[int, ...]
    passes: bool
    mask: int = 0xFFFF_FFFF


_NEW_NAMESPACES = 0x7E02_0000
_ANONYMOUS_AND_SHARED = 0x21
_SIZES_OF_BUFFERS = (7, 8)
_OWNER_AND_SIGNAL = (8, 15, 10)
"""F_SETOWN, F_SETOWN_EX, F_SETSIG: a file can be made to signal anyone, and to continue a process that is stopped."""
_OWNER_OF_SOCKET, _TYPE_INTO_TERMINAL = (0x8901, 0x8902), (0x5412, 0x541C)
_SET_ATTRIBUTES = (0x4008_6602, 0x401C_5820)

ALWAYS: tuple[Check, ...] = (
    Check("clone", 0, (0,), passes=True, mask=_NEW_NAMESPACES),
    Check("mmap", 3, (_ANONYMOUS_AND_SHARED,), passes=False, mask=_ANONYMOUS_AND_SHARED),
    Check("socketpair", 1, (1, 5), passes=True, mask=0xF),  # connected ones: no message of theirs carries an address
    Check("sendto", 5, (0,), passes=True),
    Check("setsockopt", 2, _SIZES_OF_BUFFERS, passes=False),
    Check("prlimit64", 0, (0,), passes=True),
    Check("fcntl", 1, _OWNER_AND_SIGNAL, passes=False),
    Check("ioctl", 1, (*_OWNER_OF_SOCKET, *_TYPE_INTO_TERMINAL), passes=False),
)
OF_FILES: tuple[Check, ...] = (Check("ioctl", 1, _SET_ATTRIBUTES, passes=False),)


def of_signals(own: int) -> tuple[Check, ...]:
    """For a process that may only signal itself and its group, and schedule only itself."""
    scheduling = ("sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr")
    signals = (Check("kill", 0, (0, own), passes=True), Check("tgkill", 0, (own,), passes=True))
    return (*signals, *(Check(call, 0, (0,), passes=True) for call in scheduling))
