#!/usr/bin/env python3
"""Ctrl-C at random moments of a session at the prompt, which goes on afterwards. Run by hand:

    tests/interrupts.py BINARY [--moments 1000] [--seed 1] [--session 25] [--seconds 3600]

Each moment types an entry drawn at random, sends Ctrl-C to the pseudo-terminal after 0 to 400 ms, waits for the prompt, and then
types a check: a product of integers, a fit whose numbers were printed before the first Ctrl-C, and the bytes that tensors, plans
and solvers hold. The entry's values have no names, so these bytes must be about what they were. The table has a row a kind of
entry: moments, how many of the presses found the entry running, how many needed a second press, and milliseconds from Ctrl-C to
the prompt. With a binary of the sanitizers their reports are counted too, leaks at the end of each session among them; its times
say nothing. Exit status: 0 if nothing is wrong.
"""
import argparse
import collections
import fcntl
import glob
import os
import pty
import random
import re
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
READING, READ = b"\033[?2004h", b"\033[?2004l"  # the editor begins and ends an entry with these
PATIENCE = 30.0                                 # seconds until an answer counts as missing
PRESS_AGAIN = 0.6                               # seconds until a second Ctrl-C, for what catches the first
KEPT = 1 << 16                                  # bytes: points of the last few fits by cg stay for a while, interrupted or not

SETUP = r"""
function __fit()
local x = gb.linspace(0, 1, 12):unsqueeze(2)
local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
m:fit(x, (6 * x):sin():squeeze(2))
return ('%.17g'):format(m:log_marginal_likelihood():item())
end
function __held() for _ = 1, 3 do collectgarbage() end local r = gb.memory.report() return r.tensor + r.arena + r.workspace end
function __check(n) local f = __fit() print(('check%d'):format(n), 6 * 7, f, __held()) end
"""

# A block that begins with 'do' runs once or for ever, with a seed s that is new each time: no value is
# remembered from before. {s}: the first seed; {n}: a size from 1 to 9; {d}: the folder of the session.
ENTRIES = {
    "fit, direct": ["do local x = gb.rand({n}0 + 100, 2, {{seed = s}}) local m = gb.gp.exact{{kernel ="
                    " gb.kernels.matern52{{ard = true}},"
                    " noise = 0.1}} m:fit(x, (6 * x):sin():sum(2) + 0.1 * gb.randn({n}0 + 100, {{seed = s}})) end"],
    "fit, cg": ["do local x = gb.rand({n}0 + 100, 2, {{seed = s}}) local m = gb.gp.exact{{kernel = gb.kernels.rbf{{}}, noise = 0.1,"
                " solver = gb.solvers.cg{{}}}} m:fit(x, (6 * x):sin():sum(2) + 0.1 * gb.randn({n}0 + 100, {{seed = s}})) end"],
    "k-means": ["do local km = gb.kmeans{{k = {n}0, seed = s, n_init = 3}}:fit(gb.rand(20000, 8, {{seed = s}})) end",
                "do gb.kmeans{{k = {n}0, seed = s, init = 'k-means||', algorithm = 'elkan'}}:fit(gb.rand(5000, 4,"
                " {{seed = s}})) end"],
    "product": ["do gb.rand({n}00, 900, {{seed = s}}):matmul(gb.rand(900, 1500, {{seed = s}})):sum():item() end"],
    "streamed product": ["do local x = gb.rand({n}000, 2, {{seed = s}}) gb.kernels.rbf{{}}(x):matmul(gb.ones({n}000,"
                         " 3)):sum():item() end"],
    "Cholesky": ["do local n = {n} * 150 local a = gb.rand(n, 2, {{seed = s}}) gb.linalg.cholesky(a:matmul(a:t()) +"
                 " gb.eye(n) * 9):sum():item() end"],
    "eigh": ["do local n = {n} * 40 local a = gb.rand(n, n, {{seed = s}}) gb.linalg.eigh(a + a:t()):eval() end"],
    "read csv": ["#gb.data.read '{d}/rows.csv':col 'y'", "do gb.data.read '{d}/rows.csv' end"],
    "write files": ["do gb.data.write('{d}/x.npy', gb.rand({n}00, 1000, {{seed = s}})) end",
                    "do gb.data.write('{d}/x.csv', gb.rand({n}00, 100, {{seed = s}})) end"],
    "model file": ["do local x = gb.rand(150, 1, {{seed = s}}) local m = gb.gp.exact{{kernel = gb.kernels.rbf{{}}, noise = 0.1}}"
                   " m:condition(x, x:squeeze(2)) m:save '{d}/m.gb' gb.load '{d}/m.gb' end"],
    "save a plot": ["do local x = gb.linspace(0, 1, {n}00) gb.plot.figure{{}}:line(x, (s * x):sin()):save '{d}/f.svg' end",
                    "do local x = gb.linspace(0, 1, {n}00) gb.plot.figure{{}}:line(x, (s * x):sin()):save '{d}/f.png' end"],
    "show a plot": ["do local x = gb.linspace(0, 1, {n}00) gb.plot.figure{{}}:scatter(x, (s * x):sin()):show() end"],
    "Lua loop": ["while true do end", "for i = 1, {n}000000 do local t = {{i}} end",
                 "return ('x'):rep({n}00):gsub('x', function() return 'yy' end)"],
    "pcall loop": ["while true do pcall(function() while true do end end) end",
                   "for i = 1, 100000 do pcall(error, {{}}) end",
                   "while true do pcall(function() gb.rand(300, 300):sum():item() end) end"],
    "coroutines": ["for i = 1, 1000000 do coroutine.wrap(function() coroutine.yield(gb.ones(2)) end)() end"],
    "progress": ["for i in gb.progress({n}00000, 'loop') do gb.ones(3):sum():item() end"],
    "plan": ["do local x = gb.rand({n}000, 2, {{seed = s}}) local p = gb.plan((x:unsqueeze(2) -"
             " x:unsqueeze(1)):abs():sum()) p:run() end",
             "do gb.plan(gb.kernels.rbf{{}}(gb.rand({n}00, 2, {{seed = s}})):matmul(gb.ones({n}00, 1)), {{budget = '2"
             " MiB'}}):explain() end"],
    "gradient": ["do local x = gb.rand({n}00, 2, {{seed = s}}):requires_grad()"
                 " gb.grad(gb.kernels.rbf{{}}(x):matmul(gb.randn({n}00, 1,"
                 " {{seed = s}})):exp():sum(), x):sum():item() end"],
    "prediction": ["do local x = gb.rand({n}00, 2, {{seed = s}}) local m = gb.gp.exact{{kernel = gb.kernels.rbf{{}}, noise = 0.1}}"
                   " m:condition(x, x:sum(2)) m:predict(x):interval(0.95) end"],
    "print": ["gb.rand({n}000, 300, {{seed = {s}}})", "gb", "gb.memory.report()"],
    "command": [":help", ":who", ":why", ":mem", ":reload", ":debug", ":up", ":save {d}/s.lua",
                ":timeit gb.rand(200, 200):sum():item()",
                ":time gb.rand(900, 900, {{seed = {s}}}):sum():item()", ":prof gb.rand(900, 900, {{seed = {s}}}):sum():item()",
                ":plot gb.rand({n}00, {{seed = {s}}})", ":help gb.kmeans", ":run {d}/loop.lua"],
    "help": ["?gb.gp.exact", "?kmeans", "?x:sum", "?gb.no_such_name"],
    "completion": ["gb.\t", "gb.gp.ex\t", "gb.kmeans{{\t", "m = gb.gp.exact{{kernel = gb.kernels.\t\t",
                   "io.open '{d}/\t\t", ":ti\t", "gb.rand(3):\t\t"],
    "paste": ["\033[200~for i = 1, 1e9 do\rlocal t = i\rend\033[201~", "\033[200~local x = gb.rand(9)\rprint(x"],
    "error": ["gb.ones(3):matmul(gb.ones(4, 4))", "error {{}}",
              "local t <close> = setmetatable({{}}, {{__close = function() while true do end end}}) error 'x'"],
}
UNENTERED = {"completion", "paste"}  # kinds of which Enter is typed only sometimes


class Gone(Exception):
    """The session ended, or does not answer."""


class Session:
    def __init__(self, binary, folder):
        self.folder, self.raw, self.mark = folder, b"", 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            env = {**os.environ, "TERM": "xterm", "HOME": folder, "XDG_STATE_HOME": folder, "GIBBOUS_RATES": "fixed",
                   "NO_COLOR": "1",
                   "ASAN_OPTIONS": f"log_path={folder}/sanitizer:detect_leaks=1",
                   "UBSAN_OPTIONS": f"log_path={folder}/sanitizer:print_stacktrace=1",
                   "LSAN_OPTIONS": f"suppressions={HERE}/lsan.supp:print_suppressions=0"}
            os.execve(binary, ["gibbous"], env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))

    def begin(self):
        self.prompt()
        for line in SETUP.strip().splitlines():
            self.enter(line)

    def read(self, seconds):
        """Takes what is printed within the time; raises Gone at the end."""
        if not select.select([self.fd], [], [], max(seconds, 0))[0]:
            return
        try:
            got = os.read(self.fd, 1 << 16)
        except OSError:
            got = b""
        if not got:
            raise Gone("the session ended")
        self.raw += got

    def type(self, text):
        os.write(self.fd, text.encode())

    def at_prompt(self):
        """Is an entry being read, of those that began after the mark?"""
        return self.raw.rfind(READING, self.mark) > self.raw.rfind(READ, self.mark)

    def prompt(self, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not self.at_prompt():
            if time.monotonic() > end:
                raise Gone("no prompt")
            self.read(end - time.monotonic())

    def enter(self, line):
        self.mark = len(self.raw)
        self.type(line + "\r")
        self.prompt()

    def drain(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(end - time.monotonic())

    def interrupt(self):
        """Ctrl-C, again where the first is caught. Gives (was the entry running, presses, seconds until the prompt or None). The
        terminal throws away what is printed just as Ctrl-C arrives, which may be the prompt: Enter asks for it again, and nothing
        was timed."""
        running, begin = not self.at_prompt(), time.monotonic()
        for presses in (1, 2):
            self.mark = len(self.raw)
            self.type("\003")
            try:
                self.prompt(PRESS_AGAIN)
                return running, presses, time.monotonic() - begin
            except Gone:
                if self.ended():
                    raise
        try:
            self.prompt(8)
            return running, 2, time.monotonic() - begin
        except Gone:
            if self.ended():
                raise
        self.type("\r")
        self.prompt()
        return running, 2, None

    def check(self, number):
        """What the check prints: (product, fit, bytes)."""
        token = f"check{number}".encode()
        self.enter("error 'released'")  # the frames of the error before, which :debug shows, hold their locals
        self.mark = len(self.raw)
        self.type(f"__check({number})\r")
        pattern = re.compile(token + rb"\t(\S+)\t(\S+)\t(\d+)")
        end = time.monotonic() + PATIENCE
        while True:
            found = pattern.search(self.raw, self.mark)
            if found:
                self.prompt()
                return found[1].decode(), found[2].decode(), int(found[3])
            if self.at_prompt():
                return "another answer", repr(self.raw[self.mark:]), 0
            if time.monotonic() > end:
                raise Gone("no answer to the check")
            self.read(end - time.monotonic())

    def ended(self):
        pid, status = os.waitpid(self.pid, os.WNOHANG) if self.pid else (1, 0)
        if pid:
            self.pid, self.status = 0, status
        return pid != 0

    def finish(self):
        """Ctrl-D, again where the editor was not yet there to read it; the exit status, negative after a signal."""
        try:
            for _ in range(int(PATIENCE)):
                self.type("\004")
                self.drain(1)
        except (Gone, OSError):
            pass
        end = time.monotonic() + PATIENCE
        while not self.ended():
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.01)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(self.status)


def files(folder):
    with open(f"{folder}/rows.csv", "w") as f:
        f.write("x,y,z\n" + "".join(f"{i},{i * 0.5},{i % 7}\n" for i in range(60000)))
    with open(f"{folder}/loop.lua", "w") as f:
        f.write("for i = 1, 1e8 do local t = {i} end\n")


class Tally:
    def __init__(self):
        self.moments = collections.Counter()
        self.running = collections.Counter()
        self.second = collections.Counter()
        self.times = collections.defaultdict(list)
        self.wrong = collections.Counter()
        self.notes = []

    def fault(self, what, where):
        self.wrong[what] += 1
        self.notes.append(f"{what}: {where}")
        print(self.notes[-1], file=sys.stderr, flush=True)

    def print(self):
        def row(name, kinds):
            times = sorted(t for k in kinds for t in self.times[k])
            at = lambda q: f"{1e3 * times[min(len(times) - 1, int(q * len(times)))]:8.1f}" if times else "       -"
            count = lambda c: sum(c[k] for k in kinds)
            print(f"{name:18s} {count(self.moments):7d} {count(self.running):8d} {count(self.second):7d}", at(0.5), at(0.95), at(1))

        print(f"{'entry':18s} {'moments':>7s} {'running':>8s} {'second':>7s} {'median':>8s} {'95 %':>8s} {'greatest':>8s}"
              "   (ms to the prompt, one Ctrl-C, entry running)")
        for kind in sorted(self.moments):
            row(kind, [kind])
        row("all", list(self.moments))
        for what in ("crashes", "sessions that ended", "sessions that did not end", "no answer", "checks that were wrong",
                     "memory not given back", "sanitizer reports"):
            print(f"{what:25s} {self.wrong[what]}")
        for note in self.notes:
            print("  " + note)


def moment(s, rng, kind, number, tally, known):
    """One entry, one Ctrl-C, one check. 'known': what the check gives, of which the bytes are carried on."""
    entry = rng.choice(ENTRIES[kind]).format(s=rng.randrange(1, 10**6), n=rng.randrange(1, 10), d=s.folder)
    if entry.startswith("do "):
        first = rng.randrange(1, 10**6)
        entry = (f"do local s = {first} " if rng.random() < 0.3 else f"for s = {first}, 1e9 do ") + entry[3:]
    delay = rng.uniform(0, 0.4)
    where = f"moment {number}, {kind}, after {1e3 * delay:.0f} ms: {entry!r}"
    tally.moments[kind] += 1
    begin = len(s.raw)
    try:
        s.mark = len(s.raw)
        s.type(entry + ("" if kind in UNENTERED and rng.random() < 0.8 else "\r"))
        s.drain(delay)
        running, presses, seconds = s.interrupt()
        tally.running[kind] += running
        tally.second[kind] += presses == 2
        if running and presses == 1:
            tally.times[kind].append(seconds)
        product, fit, held = s.check(number)
    except Gone as gone:
        tally.fault("sessions that ended" if s.ended() else "no answer", f"{where}: {gone}; {s.raw[begin:][-600:]!r}")
        raise
    if [product, fit] != known[:2]:
        tally.fault("checks that were wrong", f"{where}: {product}, {fit}, not {known[0]}, {known[1]}")
    if held > known[2] + KEPT:
        tally.fault("memory not given back", f"{where}: {held} bytes are held, not {known[2]}")
        known[2] = held


def session(binary, rng, numbers, tally):
    folder = tempfile.mkdtemp(prefix="gibbous-interrupts-")
    files(folder)
    s = Session(binary, folder)
    try:
        s.begin()
        known = list(s.check(0))
        for number in numbers:
            try:
                moment(s, rng, rng.choice(list(ENTRIES)), number, tally, known)
            except Gone:
                break
    except Gone as gone:
        tally.fault("sessions that ended", f"before moment {numbers[0]}: {gone}; {s.raw[-600:]!r}")
    finally:
        gone = s.ended()
        rc = s.finish()
        if rc < 0 and rc != -signal.SIGKILL:
            tally.fault("crashes", f"signal {-rc} in a session that began with moment {numbers[0]}")
        elif rc != 0 and not gone:
            tally.fault("sessions that did not end", f"exit status {rc} of that of moment {numbers[0]}: {s.raw[-600:]!r}")
        for report in glob.glob(f"{folder}/sanitizer*"):
            with open(report, errors="replace") as f:
                tally.fault("sanitizer reports", f"session of moment {numbers[0]}: {f.read()[:3000]}")
        shutil.rmtree(folder, ignore_errors=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("binary")
    p.add_argument("--moments", type=int, default=1000)
    p.add_argument("--session", type=int, default=25, help="moments of one session")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seconds", type=float, default=3600, help="stop after this time")
    o = p.parse_args()
    tally, end = Tally(), time.monotonic() + o.seconds
    for first in range(1, o.moments + 1, o.session):
        if time.monotonic() > end:
            break
        numbers = range(first, min(first + o.session, o.moments + 1))
        session(os.path.abspath(o.binary), random.Random(f"{o.seed}/{first}"), numbers, tally)
    tally.print()
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
