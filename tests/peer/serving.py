# SPDX-License-Identifier: Apache-2.0
"""`penstock serve` as a process under test: starting it, reading its log, measuring it, ending it; and the
judgement that every row ends with: is the target well, and did its other hosts notice nothing?"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import hostpeer
import wire
from wire import Failed, expect

PAGE = os.sysconf('SC_PAGE_SIZE')
TICKS = os.sysconf('SC_CLK_TCK')
NQN = 'nqn.2026-11.io.penstock:rows'
MIB = 1 << 20
# What a sanitizer keeps aside, so that "memory is bounded" can be said of a build with one.
SANITIZERS = {'ASAN_OPTIONS': 'quarantine_size_mb=8:thread_local_quarantine_size_kb=64:malloc_context_size=5'}
# Short, so that running into a limit is a test and not a wait. A busy machine still keeps to them.
SHORT = {'icreq': '700ms', 'connect': '700ms', 'first_command': '700ms', 'transfer': '1500ms', 'send': '1500ms',
         'linger': '500ms', 'keep_alive_grace': '300ms', 'fence': '5s'}
# Lines of the log in 10 s, and a few that the daemon says of itself.
FAULT_LINES, EVENT_LINES = 20 + 3, 400 + 3
REPORT = re.compile(r'Sanitizer|runtime error:|INVARIANT|Assertion|assert')


def program():
    path = os.environ.get('PENSTOCK')
    if not path:
        raise SystemExit('PENSTOCK: the program to test')
    return path


def sanitized():
    with open(program(), 'rb') as f:
        text = f.read()
    return b'__asan_init' in text or b'__tsan_init' in text


class Serving:
    """config: what goes into the YAML (JSON is YAML) file; words: instead of it, arguments of the command line."""

    def __init__(self, config=None, words=None, env=None, preexec=None, log_level='info'):
        self.dir = tempfile.mkdtemp(prefix='penstock-peer-')
        self.log_path = os.path.join(self.dir, 'log')
        self.config = os.path.join(self.dir, 'config.json')
        command = [program(), 'serve', '--log-level', log_level]
        cores = sorted(os.sched_getaffinity(0))[:int(os.environ.get('PEER_REACTORS', 1))]
        if len(cores) > 1:
            command += ['--cores', ','.join(map(str, cores))]
        if words is None:
            with open(self.config, 'w', encoding='utf-8') as f:
                json.dump(config, f)
            command += ['-c', self.config]
        else:
            command += words
        # Each has its control socket in its own directory.
        env = {**os.environ, 'XDG_RUNTIME_DIR': self.dir, **(env or {})}
        for name, value in SANITIZERS.items():
            env[name] = ':'.join(x for x in (env.get(name), value) if x)
        with open(self.log_path, 'wb') as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL,
                                            env=env, preexec_fn=preexec)
        self.pid = self.process.pid
        self.ready = self.process.stdout.readline().decode()
        addresses = re.search(r'listen=(\S+)', self.ready)
        if not addresses:
            self.process.wait()
            said = self.log()
            self.clean_up()
            raise Failed('serve did not become ready: %s' % ''.join(said[-3:]).strip())
        self.addrs = []
        for text in addresses.group(1).split(','):
            host, port = re.match(r'tcp://\[?([^\]]*)\]?:(\d+)$', text).groups()
            self.addrs.append((host, int(port)))
        self.idle = self.descriptors()

    def who(self, nqn=NQN, listener=0, **changes):
        return hostpeer.Who(self.addrs[listener], nqn).but(**changes)

    # ---- what it is told ----

    def ask(self, method, **params):
        """The answer of the control socket, whatever it says."""
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(wire.PATIENCE * 2)
        with s:
            s.connect(os.path.join(self.dir, 'penstock', 'control.sock'))
            s.sendall(json.dumps({'schema': 'penstock.control/1', 'method': method, 'params': params}).encode() + b'\n')
            text = b''
            while not text.endswith(b'\n'):
                more = s.recv(65536)
                expect(more, 'the control socket was closed after "%s"', text[-100:])
                text += more
        return json.loads(text)

    def ctl(self, method, **params):
        """The result of a request that must succeed."""
        answer = self.ask(method, **params)
        expect(answer['ok'], '%s: %s', method, answer.get('error'))
        return answer['result']

    def rewrite(self, config):
        """Another configuration file, not yet read."""
        with open(self.config, 'w', encoding='utf-8') as f:
            json.dump(config, f)

    # ---- what it says ----

    def log(self, since=0):
        """Whole lines, from that line on."""
        with open(self.log_path, encoding='utf-8', errors='replace') as f:
            text = f.read()
        return text.splitlines(keepends=True)[since:]

    def wait_log(self, pattern, since=0, within=wire.PATIENCE):
        until = time.monotonic() + within
        while True:
            found = [line for line in self.log(since) if re.search(pattern, line)]
            if found:
                return found
            expect(time.monotonic() < until, 'no line like "%s" in:\n%s', pattern, ''.join(self.log(since)[-10:]))
            time.sleep(0.01)

    def complaints(self):
        return [line.strip() for line in self.log() if REPORT.search(line)]

    # ---- what it takes ----

    def alive(self):
        return self.process.poll() is None

    def rss(self):
        with open('/proc/%d/statm' % self.pid, encoding='ascii') as f:
            return int(f.read().split()[1]) * PAGE

    def cpu(self):
        """Seconds of CPU time so far."""
        with open('/proc/%d/stat' % self.pid, encoding='ascii') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def descriptors(self):
        return len(os.listdir('/proc/%d/fd' % self.pid))

    def settle(self, descriptors, within=wire.PATIENCE):
        """Waits until there are no more descriptors open than that."""
        until = time.monotonic() + within
        while self.descriptors() > descriptors:
            expect(time.monotonic() < until, '%d descriptors are open, not %d', self.descriptors(), descriptors)
            time.sleep(0.02)

    # ---- the end ----

    def signal(self, signo=signal.SIGTERM):
        self.process.send_signal(signo)

    def ended(self, within=20.0):
        """Exit status; negative: a signal."""
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired as e:
            raise Failed('serve did not end within %.0f s' % within) from e

    def stop(self):
        """Ends it as an administrator does: it must exit with 0 and without a complaint."""
        if self.alive():
            self.signal()
        try:
            status = self.ended()
            expect(status == 0 and not self.complaints(), 'serve ended with %d: %s', status,
                   '\n'.join(self.complaints() or [line.strip() for line in self.log()[-3:]]))
        finally:
            self.clean_up()

    def clean_up(self):
        if self.alive():
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    # What a case does with what it keeps.
    def close(self):
        self.clean_up()

    def told(self):
        return [line.rstrip() for line in self.log()[-8:]] if os.path.exists(self.log_path) else []


def serve_config(namespaces=('memory:16M',), limits=None, **more):
    """One subsystem, on a free port, with short limits."""
    config = {'listeners': [{'address': 'tcp://127.0.0.1:0'}],
              'subsystems': [{'nqn': NQN, 'namespaces': [{'store': s} for s in namespaces]}],
              'arena': '16M', 'limits': {'mdts': '256k', **SHORT, **(limits or {})}}
    config.update(more)
    return config


class Watch:
    """Between rows: the target is alive, its memory bounded, its log short, and the load of another host of its
    ran on, right and in time."""

    def __init__(self, target, load, memory=24 * MIB, slow=3.0):
        self.target, self.load, self.memory, self.slow = target, load, memory, slow
        load.more(5)
        self.base = target.rss()

    def before(self, row, more):
        self.load.forget_slowest()
        return time.monotonic(), len(self.target.log()), self.load.rounds

    def after(self, row, more, before):
        began, lines, rounds = before
        with row.case('leaves the target and its other hosts well'):
            expect(self.target.alive(), 'the target ended with %s', self.target.process.poll())
            self.load.more(5)
            expect(self.load.slowest < self.slow, 'the other host waited %.2f s for a write and a read',
                   self.load.slowest)
            expect(not self.target.complaints(), '%s', '\n'.join(self.target.complaints()))
            grown = self.target.rss() - self.base
            expect(grown <= self.memory, 'resident memory grew by %.1f MiB', grown / MIB)
            said = self.target.log(lines)
            faults = sum('level=info' not in line for line in said)
            # The daemon's own bounds: so many lines in 10 s about faults, so many about who comes and goes.
            periods = 2 + int((time.monotonic() - began) / 10)
            expect(faults <= FAULT_LINES * periods, '%d lines about faults in the log', faults)
            expect(len(said) - faults <= EVENT_LINES * periods, '%d lines about events in the log', len(said) - faults)
        print('# %s: %d rounds of the other host, slowest %.0f ms; memory +%.1f MiB; %d lines' % (
            row.ident, self.load.rounds - rounds, self.load.slowest * 1000,
            (self.target.rss() - self.base) / MIB if self.target.alive() else 0, len(self.target.log()) - lines))
