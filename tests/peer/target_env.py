# SPDX-License-Identifier: Apache-2.0
"""What the rows against the client share: running the program against a raw target, and what must hold of every
run whatever the target does: it ends in time, by itself, with 0 or 1, a few lines and little memory."""
import concurrent.futures
import os
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

import nvmetcp as n
import serving
import targetpeer
import wire
from wire import expect

# Short, so that a target that says nothing is a test and not a wait.
QUERY = 'io_timeout=1s&connect_timeout=2s&loss_timeout=3s&kato=10s'
ENDS_WITHIN = 20.0
LINES = 6


class Run:
    """One run of the program. status: exit status; negative: a signal."""

    def __init__(self, words, data=b'', within=ENDS_WITHIN, keep_open=0.0):
        env = dict(os.environ)
        for name, value in serving.SANITIZERS.items():
            env[name] = ':'.join(x for x in (env.get(name), value) if x)
        began = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([serving.program()] + words, stdin=subprocess.PIPE, stdout=out, stderr=err, env=env)
            threading.Thread(target=self._feed, args=(process, data, keep_open), daemon=True).start()
            self.late, self.memory = False, 0
            while process.poll() is None:
                self.memory = max(self.memory, self._memory(process.pid))
                if time.monotonic() - began > within:
                    self.late = True
                    process.kill()
                time.sleep(0.005)
            self.status = process.returncode
            self.seconds = time.monotonic() - began
            out.seek(0)
            err.seek(0)
            self.out, self.err = out.read(), err.read().decode(errors='replace')

    def _feed(self, process, data, keep_open):
        try:
            process.stdin.write(data)
            process.stdin.flush()
            time.sleep(keep_open)
            process.stdin.close()
        except OSError:
            pass

    def _memory(self, pid):
        """The most it had so far. (What wait4() says would count the memory of this program as well.)"""
        try:
            with open('/proc/%d/status' % pid, encoding='ascii', errors='replace') as f:
                return max((int(line.split()[1]) << 10 for line in f if line.startswith('VmHWM:')), default=0)
        except OSError:
            return 0

    def judge(self, memory):
        said = self.err[-1500:]
        expect(not self.late, 'it did not end within %.0f s: %s', self.seconds, said)
        expect(self.status in (0, 1), 'it ended with %d (%s): %s', self.status,
               signal.Signals(-self.status).name if self.status < 0 else 'status', said)
        expect(not serving.REPORT.search(self.err), '%s', said)
        expect(self.err.count('\n') <= LINES, '%d lines: %s', self.err.count('\n'), said)
        expect(self.status == 0 or self.err.startswith('penstock: '), 'it failed without saying why: %s', said)
        expect(self.memory < memory, 'it took %d MiB', self.memory >> 20)
        return self


class Env:
    def __init__(self):
        self.sanitized = serving.sanitized()
        self.memory = (600 if self.sanitized else 96) * serving.MIB

    def target(self, t, kind=targetpeer.Target, **how):
        return t.keep(kind(**how))

    def run(self, words, **how):
        return Run(words, **how).judge(self.memory)

    def together(self, jobs):
        """Does them all at once, as they mostly wait; each gives back a function that gives (or raises) what came
        of it."""
        pool = concurrent.futures.ThreadPoolExecutor(len(jobs))
        futures = [pool.submit(job) for job in jobs]
        pool.shutdown(wait=True)
        return [f.result for f in futures]

    def read(self, target, length=65536, offset=0, query=QUERY, **how):
        return self.run(['read', target.uri(query), '--offset', str(offset), '--length', str(length)], **how)

    def write(self, target, data, offset=0, query=QUERY, **how):
        return self.run(['write', target.uri(query), '--offset', str(offset)], data=data, **how)

    def info(self, target, query=QUERY, **how):
        return self.run(['info', target.uri(query)], **how)

    def reads_right(self, target, length=65536, **how):
        """The read succeeds, with the bytes that the target has, and the target had nothing to object."""
        r = self.read(target, length, **how)
        expect(r.status == 0, 'it failed: %s', r.err)
        expect(r.out == bytes(target.memory[:length]), 'other bytes came out')
        expect(not target.faults, 'the client did what it must not: %s', '; '.join(target.faults))
        return r

    def writes_right(self, target, data, **how):
        r = self.write(target, data, **how)
        expect(r.status == 0, 'it failed: %s', r.err)
        expect(bytes(target.memory[:len(data)]) == data, 'other bytes arrived')
        expect(not target.faults, 'the client did what it must not: %s', '; '.join(target.faults))
        return r

    def fails(self, r, *words):
        """The run failed and said so with those words."""
        expect(r.status == 1, 'it succeeded')
        for word in words:
            expect(word in r.err, '"%s" is not in: %s', word, r.err)
        return r


def once(method):
    """A hook that misbehaves on the first association only; then the ordinary one of its class is used."""
    def hook(self, c, *args):
        if self.associations > 1:
            return getattr(targetpeer.Target, method.__name__)(self, c, *args)
        return method(self, c, *args)
    hook.__name__ = method.__name__
    return hook


def kind(name='Wrong', **hooks):
    """A Target with those hooks (or attributes) in the place of its own."""
    return type(name, (targetpeer.Target,), hooks)


def terms(target):
    """(FES, FEI) of each H2CTermReq that came."""
    return [(p.fes, p.fei) for p in target.details('term')]


def discovery_log(genctr, entries, numrec=None):
    return struct.pack('<QQH', genctr, len(entries) if numrec is None else numrec, 0).ljust(1024, b'\0') + b''.join(entries)


def discovery_entry(traddr, trsvcid='4420', subnqn=targetpeer.SUBNQN, trtype=3, adrfam=1, subtype=2, pad=b' '):
    head = struct.pack('<BBBBHHHH', trtype, adrfam, subtype, 0, 1, 0xFFFF, 32, 0).ljust(32, b'\0')
    return (head + trsvcid.encode().ljust(32, pad) + bytes(192) + n.nqn_field(subnqn) + traddr.encode().ljust(256, pad) +
            bytes(256))


class Discovery(targetpeer.Target):
    """A discovery controller whose log a test makes: log_page() gives all of it, each time it is asked for."""

    subnqn = n.DISCOVERY_NQN

    def id_ctrl(self, nsid=0):
        b = super().id_ctrl(nsid)
        b[111] = 2  # CNTRLTYPE: discovery
        return b

    def log_page(self):
        return discovery_log(1, [])

    def on_log(self, c, p, lid):
        offset = p.cdw12 | p.cdw13 << 32
        page = self.log_page()
        c.answer_data(p, page[offset:offset + p.sgl_len].ljust(p.sgl_len, b'\0'))


def unreachable(t):
    """An address that takes no connection: a listener whose backlog is full. Linux drops the SYN then."""
    s = socket.socket()
    s.bind(('127.0.0.1', 0))
    s.listen(0)
    t.keep(wire.Wire(s, 'listener'))
    for _ in range(4):
        x = socket.socket()
        x.setblocking(False)
        x.connect_ex(s.getsockname())
        t.keep(wire.Wire(x, 'filler'))
    return s.getsockname()
