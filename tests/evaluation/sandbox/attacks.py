"""What code of an answer might try. Each attack that works would be graded as right.

`{port}` and `{name}` are a server of the test on loopback and an abstract socket of it,
`{database}` and `{home}` are files and folders of the site.
"""

from __future__ import annotations

from dataclasses import dataclass

ESCAPED = "escaped"
"""What an attack prints if it works; the task expects it."""


@dataclass(frozen=True)
class Attack:
    """Code, and how it must end."""

    name: str
    code: str
    causes: str
    """What the reason may begin with, by |."""


TRY = """
import os, sys, socket, ctypes, signal, threading, time, glob
libc = ctypes.CDLL(None, use_errno=True)
def escaped(): print("escaped", flush=True); os._exit(0)
"""

ON_RESOURCES = (
    Attack(
        "fork bomb",
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        "timeout|memory",
    ),
    Attack("memory bomb", "x = []\nwhile True: x.append(bytearray(1 << 20))", "memory"),
    Attack("one huge object", "x = bytearray(1 << 40)", "memory"),
    Attack(
        "memory in many processes",
        "import os, time\n"
        "for n in range(8):\n"
        "    if os.fork() == 0: x = bytearray(60 << 20); time.sleep(60)\n"
        "time.sleep(60)",
        "memory",
    ),
    Attack(
        "memory of the kernel",
        "import os, time\n"
        "x = []\n"
        "while True: x.append(os.memfd_create('x')); os.truncate(x[-1], 1 << 20)",
        "failed: PermissionError",
    ),
    Attack(
        "shared memory",
        "import mmap, os\n"
        "while True:\n"
        "    x = mmap.mmap(-1, 50 << 20)\n"
        "    if os.fork() == 0: import time; time.sleep(60)\n"
        "    x.close()",
        "failed: PermissionError",
    ),
    Attack(
        "memory of a device", "open('/dev/zero', 'rb')", "failed: FileNotFoundError"
    ),
    Attack(
        "buffers of sockets",
        "import os, socket, time\n"
        "while True:\n"
        "    try: os.fork()\n"
        "    except OSError: break\n"
        "x = []\n"
        "while True:\n"
        "    try: x.append(socket.socketpair())\n"
        "    except OSError: break\n"
        "for pair in x:\n"
        "    for each in pair:\n"
        "        each.setblocking(False)\n"
        "        try:\n"
        "            while True: each.send(bytes(100_000))\n"
        "        except OSError: pass\n"
        "time.sleep(60)",
        "timeout|memory",
    ),
    Attack(
        "thread bomb",
        "import threading, time\n"
        "while True: threading.Thread(target=time.sleep, args=(60,)).start()",
        "failed: RuntimeError|memory|timeout",
    ),
    Attack("endless loop", "while True: pass", "timeout"),
    Attack("sleep for ever", "import time\ntime.sleep(1e6)", "timeout"),
    Attack("endless work in C", "print(10 ** (10 ** 9))", "timeout|memory"),
    Attack(
        "ignores the signal of the limit",
        "import signal\n"
        "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
        "while True: pass",
        "timeout",
    ),
    Attack(
        "disk by one file",
        "f = open('x', 'wb')\nwhile True: f.write(bytes(1 << 20))",
        "failed: OSError",
    ),
    Attack(
        "disk by many files",
        "n = 0\n"
        "while True:\n"
        "    n += 1\n"
        "    with open(f'{n}', 'wb') as f: f.write(bytes(4 << 20))",
        "failed: OSError",
    ),
    Attack(
        "disk by a sparse file",
        "import os\nf = open('x', 'wb')\nos.truncate(f.fileno(), 1 << 40)\n"
        "print('escaped')",
        "failed: OSError",
    ),
    Attack(
        "flood of names",
        "n = 0\nwhile True:\n    n += 1\n    open(f'{n}', 'w').close()",
        "failed: OSError",
    ),
    Attack("flood of output", "while True: print('x' * 100_000)", "output|failed"),
    Attack(
        "flood of errors",
        "import sys\nwhile True: sys.stderr.write('x' * 100_000)",
        "output|failed",
    ),
    Attack(
        "flood of open files",
        "x = []\nwhile True: x.append(open('/dev/null'))",
        "failed: OSError",
    ),
    Attack(
        "endless recursion",
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
        "crashed|memory|timeout|failed: RecursionError",
    ),
    Attack("segmentation fault", f"{TRY}\nctypes.string_at(0)", "crashed: SIGSEGV"),
    Attack(
        "raises its limits",
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_NPROC, (9999, 9999))\nprint('escaped')",
        "failed: ValueError",
    ),
    Attack(
        "nicer to itself",
        f"{TRY}\nos.nice(-20)\nescaped()",
        "failed: PermissionError",
    ),
)

ON_THE_NETWORK = tuple(
    Attack(name, f"{TRY}\n{code}\nescaped()", "failed: ")
    for name, code in (
        ("TCP", "socket.create_connection(('192.0.2.1', 80), 1)"),
        ("TCP to the machine", "socket.create_connection(('127.0.0.1', {port}), 1)"),
        (
            "UDP",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
            ".sendto(b'x', ('192.0.2.1', 53))",
        ),
        ("names", "socket.getaddrinfo('example.org', 80)"),
        ("IPv6", "socket.create_connection(('::1', {port}), 1)"),
        (
            "abstract socket",
            "socket.socket(socket.AF_UNIX).connect('\\0{name}')",
        ),
        ("virtual machine's host", "socket.socket(40, socket.SOCK_STREAM)"),
        ("raw packets", "socket.socket(17, socket.SOCK_RAW)"),
        (
            "listens for the machine",
            "server = socket.create_server(('127.0.0.1', 0))\n"
            "socket.create_connection(server.getsockname(), 1)",
        ),
    )
)

ON_FILES = tuple(
    Attack(name, f"{TRY}\n{code}\nescaped()", "failed: ")
    for name, code in (
        ("passwords", "open('/etc/shadow').read()"),
        ("process 1", "open('/proc/1/environ').read()"),
        ("own process", "open('/proc/self/mem', 'rb').read(1)"),
        ("the site's database", "open('{database}', 'rb').read(1)"),
        ("the site's code", "open('{home}/manage.py').read()"),
        ("home", "os.listdir('/home')"),
        ("home of root", "os.listdir('/root/.ssh')"),
        ("system settings", "os.listdir('/sys')"),
        ("sockets of services", "os.listdir('/run')"),
        ("writes to the root", "open('/conductor-attack', 'w')"),
        ("writes to libraries", "open('/usr/lib/conductor-attack', 'w')"),
        ("writes to its own program", "open('/sandbox/answer.py', 'a')"),
        ("writes to a device", "open('/dev/conductor-attack', 'w')"),
        (
            "symbolic link",
            "os.symlink('/etc/shadow', 'x')\nopen('x').read()",
        ),
        (
            "hard link",
            "os.link(sys.executable, 'x')",
        ),
        ("climbs up", "open('/sandbox/work/' + '../' * 50 + 'etc/shadow').read()"),
        ("memory device", "open('/dev/mem', 'rb')"),
        ("disk device", "[open(x, 'rb') for x in glob.glob('/dev/[svn][dv]*')][0]"),
        ("mknod", "os.mknod('x', 0o20600, os.makedev(1, 1))"),
        (
            "runs a program of its own",
            "open('x', 'wb').write(open(sys.executable, 'rb').read())\n"
            "os.chmod('x', 0o755)\n"
            "os.execv('x', ['x', '-c', 'print(\"escaped\")'])",
        ),
        (
            "set-user-id",
            "open('x', 'w').close()\nos.chmod('x', 0o4755)\nos.setuid(0)",
        ),
    )
)

ON_THE_KERNEL = tuple(
    Attack(name, f"{TRY}\n{code}", "failed: ")
    for name, code in (
        (
            "mount",
            "assert libc.mount(b'x', b'/sandbox', b'tmpfs', 0, None) == 0\nescaped()",
        ),
        (
            "mounts again, writable",
            "assert libc.mount(b'none', b'/', None, 0x1020, None) == 0\nescaped()",
        ),
        ("unmount", "assert libc.umount2(b'/sandbox/work', 2) == 0\nescaped()"),
        ("chroot", "os.chroot('/sandbox/work')\nescaped()"),
        ("user namespace", "assert libc.unshare(0x10000000) == 0\nescaped()"),
        (
            "user namespace by clone",
            "assert libc.syscall(56, 0x10000011, 0, 0, 0, 0) >= 0\nescaped()",
        ),
        (
            "user namespace by clone3",
            "a = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)\n"
            "assert libc.syscall(435, a, 88) >= 0\nescaped()",
        ),
        ("traces process 1", "assert libc.ptrace(16, 1, 0, 0) == 0\nescaped()"),
        (
            "enters process 1",
            "os.pidfd_open(1)\nassert libc.setns(3, 0) == 0\nescaped()",
        ),
        ("host name", "socket.sethostname('x')\nescaped()"),
        ("clock", "time.clock_settime(time.CLOCK_REALTIME, 0)\nescaped()"),
        ("kernel keys", "assert libc.syscall(250, 0, -3, 1) >= 0\nescaped()"),
        ("shared memory", "assert libc.shmget(0, 1 << 20, 0o1600) >= 0\nescaped()"),
        ("bpf", "assert libc.syscall(321, 0, 0, 0) >= 0\nescaped()"),
        ("io_uring", "assert libc.syscall(425, 8, 0) >= 0\nescaped()"),
    )
)

ON_OTHERS = (
    Attack(
        "signals to all",
        f"{TRY}\nos.kill(-1, signal.SIGKILL)\nraise SystemExit(1)",
        "failed",
    ),
    Attack(
        "signals to the parent",
        f"{TRY}\n"
        "assert os.getppid() == 1\n"
        "for n in range(1, 65):\n"
        "    if n not in (32, 33): os.kill(1, n)\n"
        "print(os.getppid())",
        "failed",
    ),
    *(
        Attack(
            f"limits of process 1: {limit}",
            "import os, resource, time\n"
            f"resource.prlimit(1, resource.{limit}, (0, 0))\n"
            "for n in range(50): os.fork() or os._exit(0); time.sleep(0.01)",
            "failed: PermissionError",
        )
        for limit in ("RLIMIT_CPU", "RLIMIT_AS", "RLIMIT_NOFILE", "RLIMIT_FSIZE")
    ),
    Attack(
        "processors of process 1",
        "import os\nos.sched_setaffinity(1, {0})",
        "failed: PermissionError",
    ),
    Attack(
        "signals to other processes",
        f"{TRY}\n"
        "for n in range(3, 70_000):\n"
        "    try: os.kill(n, 9); escaped() if n != os.getpid() else None\n"
        "    except ProcessLookupError: pass",
        "failed|crashed|timeout",
    ),
    Attack(
        "leaves a service behind",
        f"{TRY}\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "    if os.fork() == 0:\n"
        "        os.closerange(0, 100)\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "raise SystemExit(1)",
        "failed",
    ),
    Attack(
        "a child that prints later",
        f"{TRY}\nif os.fork() == 0:\n    time.sleep(1); escaped()\nos._exit(0)",
        "failed: another output",
    ),
    Attack("closes everything", "import os\nos.closerange(0, 200)", "failed"),
    Attack(
        "environment",
        f"{TRY}\nassert set(os.environ) - set(['HOME', 'LANG', 'LC_CTYPE', 'TMPDIR', "
        "'PATH', 'MPLBACKEND', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'])\nescaped()",
        "failed: AssertionError",
    ),
    Attack(
        "inherited descriptors",
        f"{TRY}\n"
        "for n in range(3, 4096):\n"
        "    try: os.fstat(n)\n"
        "    except OSError: continue\n"
        "    escaped()",
        "failed",
    ),
)

WITH_FUNCTION = """
def double(x):
    return 0
"""
MODULES = "import builtins, os, sys, gc, signal"
BEFORE_TESTS = tuple(
    Attack(name, f"{MODULES}\n{code}\n{WITH_FUNCTION}", causes)
    for name, code, causes in (
        ("exit(0) first", "sys.exit(0)", "failed"),
        ("exit without cleaning up", "os._exit(0)", "failed"),
        ("SystemExit", "raise SystemExit", "failed"),
        ("BaseException", "raise BaseException('passed')", "failed"),
        ("KeyboardInterrupt", "raise KeyboardInterrupt", "failed"),
        ("kills itself", "os.kill(os.getpid(), 9)", "crashed|failed"),
        ("kills all others", "os.kill(-1, 9)", "crashed|failed"),
        ("prints a result", "print('OK\\n\\nRan 1 test in 0.0s')", "failed"),
        (
            "writes to every descriptor",
            "for n in range(3, 128):\n"
            "    try: os.write(n, b'ok')\n"
            "    except OSError: pass",
            "failed|timeout",
        ),
        (
            "closes every descriptor",
            "os.closerange(3, 200)",
            "failed|crashed",
        ),
        (
            "own assertions",
            "import unittest\nunittest.TestCase.assertEqual = lambda *x: None",
            "failed",
        ),
        (
            "own test runner",
            "import unittest\nunittest.TestCase.run = lambda self, result: result",
            "failed",
        ),
        (
            "own results",
            "import unittest\n"
            "unittest.TestResult.addFailure = lambda *x: None\n"
            "unittest.TestResult.addError = lambda *x: None",
            "failed",
        ),
        (
            "own suite",
            "import unittest\n"
            "unittest.TestSuite.run = lambda self, result, debug=False: result",
            "failed",
        ),
        (
            "own built-in functions",
            "builtins.isinstance = lambda *x: True\nbuiltins.__build_class__ = None",
            "failed",
        ),
        ("no assertion errors", "builtins.AssertionError = StopIteration", "failed"),
        (
            "skips the tests",
            "import unittest\nraise unittest.SkipTest",
            "failed",
        ),
        ("replaced at exit", "import atexit\natexit.register(os._exit, 0)", "failed"),
        (
            "a trace function",
            "sys.settrace(lambda *x: sys.exit(0))",
            "failed",
        ),
        (
            "an alarm",
            "signal.signal(signal.SIGALRM, lambda *x: os._exit(0))\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.001)\n"
            "while True: pass",
            "failed|timeout",
        ),
    )
)
WITHIN_TESTS = (
    Attack(
        "exit within a test",
        "import os\ndef double(x): os._exit(0)",
        "failed",
    ),
    Attack(
        "SystemExit within a test",
        "import sys\ndef double(x): sys.exit(0)",
        "failed",
    ),
    Attack(
        "equal to everything",
        "class Any(int):\n"
        "    def __eq__(self, other): return True\n"
        "    __hash__ = int.__hash__\n"
        "def double(x): return Any()",
        "failed",
    ),
    Attack(
        "skips the test",
        "import unittest\ndef double(x): raise unittest.SkipTest",
        "failed",
    ),
    Attack("never comes back", "def double(x):\n    while True: pass", "timeout"),
    Attack(
        "memory within a test",
        "def double(x): return len(bytearray(1 << 40))",
        "memory|failed",
    ),
)
ONLY_IN_ONE_PROCESS = {"equal to everything"}
"""Works where answer and tests share a process: docs/evaluation.md says so."""
