"""Run a task in a process of its own and kill it at a chosen call that changes a file, or in the middle of a write.

The kernel stops the process before each such call (ptrace with a seccomp filter), whoever makes it: Python, Arrow or
NumPy. So every state that a kill can leave on the disk can be had, by number. Linux only.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

# Calls that change files: numbers on x86-64 and ARM64 (None where it has none), and how the file is named: by a
# descriptor, by a path, or by a folder's descriptor and a path.
CALLS: dict[str, tuple[int | None, int | None, str]] = {
    "write": (1, 64, "file"), "pwrite64": (18, 68, "file"), "writev": (20, 66, "file"), "fsync": (74, 82, "file"),
    "fdatasync": (75, 83, "file"), "ftruncate": (77, 46, "file"), "fallocate": (285, 47, "file"),
    "sendfile": (40, 71, "file"), "copy_file_range": (326, 285, "file"), "open": (2, None, "path"),
    "creat": (85, None, "path"), "truncate": (76, 45, "path"), "rename": (82, None, "path"),
    "unlink": (87, None, "path"), "mkdir": (83, None, "path"), "rmdir": (84, None, "path"), "openat": (257, 56, "at"),
    "renameat": (264, 38, "at"), "renameat2": (316, 276, "at"), "unlinkat": (263, 35, "at"), "mkdirat": (258, 34, "at"),
}  # fmt: skip
ARCHITECTURES = ("x86_64", "aarch64")
# Place of a call's third argument, the length of a write, among the registers.
LENGTH_REGISTER = {"x86_64": 12, "aarch64": 2}

N_REGISTERS = 34  # more than any of the two has
TRACE_ME, CONTINUE, NEXT_CALL, SET_OPTIONS, GET_REGISTERS, SET_REGISTERS = 0, 7, 24, 0x4200, 0x4204, 0x4205
GET_CALL = 0x420E
ON_SECCOMP = 7  # what a stop is about, as the kernel says it
OPTIONS = 0x1 | 0x2 | 0x4 | 0x8 | 0x80 | 0x100000  # mark calls; follow forks and threads; stop at filter; die with us
ANY_THREAD = 0x40000000
CALL_MARK = 0x80
CREATES = os.O_CREAT | os.O_TRUNC

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Call(NamedTuple):
    """A call that changes a file. length : bytes of a write, 0 for others."""

    name: str
    path: str
    length: int

    def __str__(self) -> str:
        return f"{self.name} {Path(self.path).name}" + (f" ({self.length} bytes)" if self.length else "")


@dataclass
class Ending:
    """How a task ended. calls : those it made; synced : sizes of files that are on the disk for sure."""

    calls: list[Call] = field(default_factory=list)
    synced: dict[str, int] = field(default_factory=dict)
    killed: bool = False
    code: int = 0


def can_step() -> str:
    """Why processes cannot be stopped at their calls here; empty where they can."""
    if sys.platform != "linux" or platform.machine() not in ARCHITECTURES:
        return f"needs Linux on {' or '.join(ARCHITECTURES)}"
    try:
        return "" if run(lambda: None, Path("/"), Path(os.devnull), kill_at=1).code == 0 else "the task failed"
    except OSError as error:
        return f"this system lets no process trace another ({error.strerror})"


def run(
    task: Callable[[], object], folder: Path, log: Path, *, kill_at: int | None = None, torn: bool = False
) -> Ending:
    """Run the task with the folder as its own; kill it before the call of this number that changes a file there.

    kill_at : counted from 1; 0 counts the calls and kills at none, None does not look at them.
    torn : let half of that write happen first.
    """
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _child(task, folder, log, traced=kill_at is not None)
    if kill_at is None:
        return Ending(code=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    return _Tracer(pid, str(folder.resolve())).follow(kill_at, torn)


def _child(task: Callable[[], object], folder: Path, log: Path, *, traced: bool) -> None:
    code = 70
    try:
        os.chdir(folder)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        if traced:
            os.setpgid(0, 0)
            _call(TRACE_ME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            _install_filter()
        task()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(bool(stop.code))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class _Tracer:
    def __init__(self, pid: int, folder: str) -> None:
        self.pid, self.folder = pid, folder
        self.ending = Ending()
        self.asked: tuple[str, int] | None = None  # file and size that an fsync is about, until it has returned
        machine = ARCHITECTURES.index(platform.machine())
        self.names = {numbers[machine]: name for name, numbers in CALLS.items() if numbers[machine] is not None}

    def follow(self, kill_at: int, torn: bool) -> Ending:
        """Let the process run to its end or to the call."""
        os.waitpid(self.pid, 0)
        _call(SET_OPTIONS, self.pid, OPTIONS)
        _call(CONTINUE, self.pid)
        while True:
            thread, status = os.waitpid(-self.pid, ANY_THREAD)
            if not os.WIFSTOPPED(status):
                if thread == self.pid:
                    self.ending.code = os.waitstatus_to_exitcode(status)
                    return self.ending
            elif self._is_end(thread, status, kill_at, torn):
                return self._kill()

    def _is_end(self, thread: int, status: int, kill_at: int, torn: bool) -> bool:
        """Let a stopped thread go on, unless this is where to kill it."""
        event, sign = status >> 16, os.WSTOPSIG(status)
        if sign == signal.SIGTRAP | CALL_MARK:  # half of a write has happened
            return True
        if event == ON_SECCOMP and (call := self._made(thread)) is not None:
            if len(self.ending.calls) + 1 == kill_at:
                if not (torn and call.length > 1):
                    return True
                _shorten(thread, call.length // 2)
                _call(NEXT_CALL, thread)
                return False
            self.ending.calls.append(call)
        quiet = event or sign in (signal.SIGSTOP, signal.SIGTRAP)  # a stop of ours, not a signal to the task
        _call(CONTINUE, thread, 0 if quiet else sign)
        return False

    def _made(self, thread: int) -> Call | None:
        """The call that a thread is about to make, None if it is about files elsewhere."""
        if self.asked is not None:
            self.ending.synced[self.asked[0]] = self.asked[1]
            self.asked = None
        buffer = ctypes.create_string_buffer(128)
        _call(GET_CALL, thread, ctypes.addressof(buffer), len(buffer))
        number, *arguments = struct.unpack_from("7Q", buffer, 24)
        name = self.names[number]
        kind = CALLS[name][2]
        try:
            if kind == "file":
                path = Path(f"/proc/{thread}/fd/{arguments[0]}").readlink()
            else:
                path = self._path(thread, arguments[kind == "at"], arguments[0] if kind == "at" else None)
        except OSError:  # the call will fail
            return None
        if not str(path).startswith(self.folder + "/"):
            return None
        if name in ("fsync", "fdatasync"):
            self.asked = str(path), path.stat().st_size
        return Call(name, str(path), arguments[2] if name in ("write", "pwrite64") else 0)

    def _path(self, thread: int, address: int, folder: int | None) -> Path:
        with Path(f"/proc/{thread}/mem").open("rb", buffering=0) as memory:
            memory.seek(address)
            text = memory.read(4096 - address % 4096)  # to the end of the page
            while b"\0" not in text:
                text += memory.read(4096)
        path = Path(os.fsdecode(text.partition(b"\0")[0]))
        descriptor = None if folder is None else ctypes.c_int(folder).value
        base = "cwd" if descriptor is None or descriptor < 0 else f"fd/{descriptor}"
        return path if path.is_absolute() else Path(f"/proc/{thread}/{base}").readlink() / path

    def _kill(self) -> Ending:
        os.kill(self.pid, signal.SIGKILL)
        while os.waitpid(-self.pid, ANY_THREAD)[0] != self.pid:
            pass
        self.ending.killed = True
        return self.ending


def _call(request: int, thread: int, data: int = 0, address: int = 0) -> None:
    if libc.ptrace(request, thread, address, data) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _shorten(thread: int, length: int) -> None:
    """Make a write that is about to happen shorter."""
    registers = (ctypes.c_uint64 * N_REGISTERS)()
    area = (ctypes.c_void_p * 2)(ctypes.addressof(registers), ctypes.sizeof(registers))
    _call(GET_REGISTERS, thread, ctypes.addressof(area), 1)  # which also says how much it wrote
    registers[LENGTH_REGISTER[platform.machine()]] = length
    _call(SET_REGISTERS, thread, ctypes.addressof(area), 1)


def _install_filter() -> None:
    """Stop at the calls of the table from now on; at opening a file only where that makes or empties it."""
    machine = ARCHITECTURES.index(platform.machine())
    allow, stop = (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x7FF00000)
    program = [(0x20, 0, 0, 0)]  # load the number of the call
    for name, numbers in CALLS.items():
        number, flags = numbers[machine], {"open": 24, "openat": 32}.get(name)
        if number is None:
            continue
        if flags is None:
            program += [(0x15, 0, 1, number), stop]
        else:  # load the flags and look for those that make a file
            program += [(0x15, 0, 4, number), (0x20, 0, 0, flags), (0x45, 0, 1, CREATES), stop, allow]
    code = b"".join(struct.pack("HBBI", *step) for step in [*program, allow])
    buffer = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    new_privileges, seccomp, filtered = 38, 22, 2
    if libc.prctl(new_privileges, 1, 0, 0, 0) or libc.prctl(seccomp, filtered, ctypes.c_char_p(head), 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
