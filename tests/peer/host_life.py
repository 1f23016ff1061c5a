# SPDX-License-Identifier: Apache-2.0
"""Rows about time, events, resources and ends: keep alive, asynchronous events, many hosts, a small machine,
and a target that is stopped in the middle of it all."""
import os
import resource
import signal
import socket
import struct
import threading
import time

import hostpeer
import nvmetcp as n
import rows
import serving
import wire
from host_commands import ends, still_right, write_of
from host_env import ARENA, BAD_NQN, DEPTH, MDTS, NS, NS_SLOW
from wire import expect

book = rows.Book()
EVENT_LIMIT_AT = 259  # AERL in Identify Controller, counts from zero


@book.row('K001', 'a host is dropped by keep alive only when it is silent')
def k001(t):
    env = t.env
    with t.case('for 3 s, with KATO 500 ms: kept by I/O alone, kept by admin commands alone; silent with KATO 0: kept; '
                'silent: all its queues end, not before KATO, and within the grace after it'):
        by_io, by_admin, for_ever = env.host(t, kato=500), env.host(t, kato=500), env.host(t)
        silent = env.host(t, kato=500, queues=2)
        began = time.monotonic()
        while time.monotonic() < began + 3:
            still_right(by_io.io[0])
            ends(by_admin.admin.get_feature(1), n.OK)
            if time.monotonic() < began + 0.4:
                silent.admin.wire.silent(0.01)
            time.sleep(0.2)
        for q in [silent.admin] + silent.io:
            _, after = q.wire.expect_closed(1)
            expect(after < 0.1, 'a queue of the silent host ended after %.1f s', time.monotonic() - began)
        ends(by_io.admin.identify(1), n.OK)
        still_right(by_admin.io[0])
        still_right(for_ever.io[0])
    with t.case('turned on and off by Set Features'):
        h = env.host(t)
        ends(h.admin.set_feature(0x0F, 400), n.OK)
        ends(h.admin.set_feature(0x0F, 0), n.OK)
        h.admin.wire.silent(1.5)
        ends(h.admin.set_feature(0x0F, 400), n.OK)
        h.admin.wire.expect_closed(4)
    env.reason(t, lambda who: t.keep(hostpeer.Host(who, queues=0, kato=300)).admin.wire.expect_closed(5),
               'keep_alive_timeout')


@book.row('K004', 'KATO is rounded up to the granularity in KAS')
def k004(t):
    with t.case('1 to 99 ms'):
        h = t.env.host(t)
        kas = struct.unpack_from('<H', h.admin.identify(1).data, 320)[0] * 100
        expect(kas > 0, 'KAS is 0 although Keep Alive is served')
        for kato in (1, 50, 99, 101):
            q = t.env.queue(t)
            ends(q.connect(kato=kato), n.OK)
            q.enable()
            got = ends(q.get_feature(0x0F), n.OK).result
            expect(got >= kato and got % kas == 0 and got - kato < kas, 'KATO %d became %d, KAS is %d', kato, got, kas)
            q.close()
    with t.case('2^32-1 does not overflow'):
        q = t.env.queue(t)
        ends(q.connect(kato=0xFFFFFFFF), n.OK)
        q.enable()
        q.wire.silent(0.3)
        expect(ends(q.get_feature(0x0F), n.OK).result > 0xF0000000, 'another value')


def aerl(admin):
    return admin.identify(1).data[EVENT_LIMIT_AT]


@book.row('A001', 'Verify has the opcode of an Asynchronous Event Request')
def a001(t):
    with t.case('on an I/O queue it verifies, and counts as no request'):
        h = t.env.host(t)
        for i in range(20):
            ends(h.io[0].command(n.sqe(n.VERIFY, h.io[0].next_cid(), NS, cdw10=n.rw_cdw(i, 8))), n.OK)
        cids = [h.admin.event_request() for _ in range(aerl(h.admin) + 1)]
        h.admin.wire.silent(0.1)
        h.close()
        expect(cids, 'used')
    with t.case('and the controller ends as any other'):
        before = t.env.quiet()
        h = t.env.host(t)
        ends(h.io[0].command(n.sqe(n.VERIFY, h.io[0].next_cid(), NS, cdw10=n.rw_cdw(0, 8))), n.OK)
        h.admin.event_request()
        h.close()
        t.env.target.settle(before)


@book.row('A002', 'as many Asynchronous Event Requests as AERL says')
def a002(t):
    with t.case('AERL + 1 wait; one more: Asynchronous Event Request Limit Exceeded; the others go on waiting'):
        a = t.env.host(t, sqsize=DEPTH - 1).admin
        limit = aerl(a) + 1
        cids = [a.event_request() for _ in range(limit)]
        ends(a.wait(a.event_request()), n.EVENT_LIMIT, dnr=None)
        a.wire.silent(0.1)
        expect(a.abort(cids[0]), 'the first does not wait any more')
        ends(a.wait(cids[0]), n.ABORT_REQUESTED, dnr=None)
        cids[0] = a.event_request()
        a.wire.silent(0.1)
        ends(a.identify(1), n.OK)


@book.row('A003', 'requests for events hold nothing up')
def a003(t):
    env = t.env
    with t.case('a reset ends them, and the controller can be used again'):
        h = env.host(t)
        for _ in range(4):
            h.admin.event_request()
        ends(h.admin.set_property(n.CC, 0), n.OK)
        until = time.monotonic() + wire.PATIENCE
        while h.admin.get_property(n.CSTS).result & 1:
            expect(time.monotonic() < until, 'CSTS.RDY stays 1')
            time.sleep(0.01)
        h.admin.enable()
        h.admin.answers.clear()
        cids = [h.admin.event_request() for _ in range(4)]
        h.admin.wire.silent(0.1)
        expect(not set(cids) & set(h.admin.answers), 'answered without an event')
    with t.case('a shutdown is complete although they wait'):
        h = env.host(t)
        for _ in range(4):
            h.admin.event_request()
        ends(h.admin.set_property(n.CC, n.CC_ENABLE | 1 << 14), n.OK)
        until = time.monotonic() + wire.PATIENCE
        while h.admin.get_property(n.CSTS).result >> 2 & 3 != 2:
            expect(time.monotonic() < until, 'CSTS.SHST never says complete')
            time.sleep(0.01)


@book.row('A004', 'hosts that go away with requests for events')
def a004(t):
    env = t.env
    with t.case('200 of them, by every kind of end'):
        before = env.quiet()
        for i in range(200):
            h = hostpeer.Host(env.who(), queues=i % 2)
            for _ in range(4):
                h.admin.event_request()
            if i % 3 == 0:
                h.admin.wire.reset()
            elif i % 3 == 1:
                h.admin.wire.send(n.term(n.H2C_TERM, 1))
            h.close()
        env.target.settle(before)


@book.row('A006', 'the changed namespace list')
def a006(t):
    with t.case('empty, with and without RAE, and it stays so'):
        a = t.env.host(t).admin
        for rae in (True, False, False):
            expect(ends(a.log(4, 4096, rae=rae), n.OK).data == bytes(4096), 'namespaces have changed')


@book.row('C008', 'controllers that come and go while others connect')
def c008(t):
    env = t.env
    with t.case('100 hosts at once, each with I/O, half of them leaving in the middle'):
        before = env.quiet()
        queues = []
        for i in range(100):
            q = env.queue(t, who=env.who(hostnqn=BAD_NQN[:-3] + '%03d' % i, hostid=os.urandom(16)))
            q.wire.send(q.connect_bytes())
            queues.append(q)
        for i, q in enumerate(queues):
            if i % 2:
                q.wire.reset()
        for q in queues[::2]:
            ends(q.wait(q.cid), n.OK)
            q.cntlid = 1
        for q in queues[::2]:
            q.enable()
            q.close()
        env.target.settle(before)


@book.row('C011', 'Connect and admin commands while all memory for data is taken')
def c011(t):
    env = t.env
    with t.case('they are served at once'):
        greedy = [t.keep(hostpeer.Host(env.who(hostnqn=BAD_NQN[:-2] + '%02d' % i, hostid=os.urandom(16)),
                                       io_sqsize=DEPTH - 1)) for i in range(12)]
        for h in greedy:
            q = h.io[0]
            q.wire.send(b''.join(q.capsule(write_of(q, MDTS // 512, MDTS)) for _ in range(DEPTH - 1)))
        time.sleep(0.1)
        began = time.monotonic()
        for _ in range(5):
            q = env.queue(t)
            ends(q.connect(), n.OK)
            q.enable()
            ends(q.identify(1), n.OK)
            q.close()
        took = time.monotonic() - began
        expect(took < 1.0, 'five controllers took %.2f s', took)


@book.row('T031', 'large in-capsule data, and an end with commands waiting')
def t031(t):
    env = t.env
    with env.fresh(t, limits={'in_capsule': '128k'}) as target:
        with t.case('128 KiB in the capsule, a queue of them, aborts, and a disconnect in the middle'):
            for end in ('close', 'reset', 'half a capsule'):
                h = t.keep(hostpeer.Host(target.who(), io_sqsize=DEPTH - 1))
                q, data = h.io[0], os.urandom(131072)
                ends(q.write(0, data, capsule=True), n.OK)
                expect(q.read(0, 131072).data == data, 'read back differently')
                cids = [q.submit(q.write_sqe(0, data, capsule=True), capsule=data) for _ in range(40)]
                for cid in cids[::3]:
                    h.admin.abort(cid, 1)
                if end == 'half a capsule':
                    q.wire.send(q.capsule(q.write_sqe(0, data, capsule=True), data)[:70000])
                (q.wire.reset if end == 'reset' else q.close)()
                h.close()
            target.settle(target.idle)


@book.row('X003', 'the peer is gone, with bytes unread')
def x003(t):
    env = t.env
    for name, data in (('100 bytes of junk', b'\xac' * 100), ('a command', None), ('half a command', 40)):
        for end in ('close', 'reset', 'half_close'):
            with t.case('%s, then %s: noticed at once' % (name, end)):
                before = env.quiet()
                q = env.host(t).io[0]
                whole = q.capsule(q.write_sqe(0, bytes(4096), capsule=True), bytes(4096))
                q.wire.send(whole[:data] if isinstance(data, int) else data or whole)
                getattr(q.wire, end)()
                # Its admin queue stays.
                env.target.settle(before + 1, within=1.2)


@book.row('X005', 'one command at a time: nothing is held back to be sent with something else')
def x005(t):
    env = t.env
    for depth in (1, 2, 3):
        for cattr in (0, 4):
            with t.case('%d in flight, CATTR %d: far from the 40 ms of a delayed acknowledgement' % (depth, cattr)):
                q = env.host(t, cattr=cattr).io[0]
                began, count = time.monotonic(), 300
                cids = [q.submit(q.read_sqe(i, 4096), read=4096) for i in range(depth)]
                for i in range(count):
                    ends(q.wait(cids.pop(0)), n.OK)
                    cids.append(q.submit(q.read_sqe(i, 4096), read=4096))
                for cid in cids:
                    ends(q.wait(cid), n.OK)
                mean = (time.monotonic() - began) / count
                expect(mean < (0.02 if env.sanitized else 0.008), '%.2f ms a read', mean * 1000)


@book.row('X006', 'many connections, none forgotten')
def x006(t):
    env = t.env
    with t.case('128 connections with 16 reads each in flight: each gets its share'):
        hosts = [t.keep(hostpeer.Host(env.who(), queues=4)) for _ in range(32)]
        queues = [q for h in hosts for q in h.io]
        served = dict.fromkeys(queues, 0)
        for q in queues:
            q.wire.send(b''.join(q.capsule(q.read_sqe(i, 512)) for i in range(16)))
        until = time.monotonic() + (15 if env.sanitized else 5)
        # Answers are 24 + 512 and 24 bytes; what is counted is bytes, quickly.
        for q in queues:
            want = 16 * (24 + 512 + 24)
            while served[q] < want:
                expect(time.monotonic() < until, 'a connection got %d of %d bytes', served[q], want)
                try:
                    served[q] += len(q.wire.sock.recv(1 << 16))
                except BlockingIOError:
                    time.sleep(0.001)


@book.row('X007', 'an idle target sleeps')
def x007(t):
    with t.env.fresh(t) as target:
        with t.case('100 controllers with I/O queues, doing nothing: under 3 % of a core'):
            hosts = [t.keep(hostpeer.Host(target.who(hostnqn=BAD_NQN[:-3] + '%03d' % i, hostid=os.urandom(16)), kato=30000))
                     for i in range(100)]
            time.sleep(0.3)
            before = target.cpu()
            time.sleep(2)
            used = (target.cpu() - before) / 2
            expect(used < (0.1 if t.env.sanitized else 0.03), '%.1f %% of a core', used * 100)
            for h in hosts:
                h.close()


@book.row('X008', 'out of file descriptors')
def x008(t):
    env = t.env

    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    with t.case('200 connections with 64 descriptors: it lives, says so once in a while, does not spin, recovers'):
        target = t.keep(serving.Serving(serving.serve_config(), preexec=few))
        h = t.keep(hostpeer.Host(target.who()))
        wires = []
        for _ in range(200):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(target.addrs[0])
            wires.append(s)
        target.wait_log('accept_failed.*(Too many open files|limit of open files)')
        before = target.cpu()
        still_right(h.io[0])
        time.sleep(1)
        still_right(h.io[0])
        used = target.cpu() - before
        expect(used < (0.8 if env.sanitized else 0.4), '%.2f s of CPU time in 1 s of having none', used)
        expect(len(target.log()) < 40, '%d lines in the log', len(target.log()))
        for s in wires:
            s.close()
        until = time.monotonic() + wire.PATIENCE
        while True:
            try:
                late = t.keep(hostpeer.Host(target.who(hostnqn=BAD_NQN)))
                break
            except wire.Failed:
                expect(time.monotonic() < until, 'no connection although there is room again')
                time.sleep(0.1)
        still_right(late.io[0])
        late.close()
        h.close()
        target.stop()
    with t.case('more connections than configured: refused, and room again afterwards'):
        target = t.keep(serving.Serving(serving.serve_config(connections=8)))
        queues = [hostpeer.Queue(target.who(), 0) for _ in range(8)]
        for q in queues:
            q.initialise()
        w = wire.dial(target.addrs[0])
        w.expect_closed(1)
        target.wait_log('reason=too_many_connections')
        for q in queues:
            q.close()
        target.settle(target.idle)
        t.keep(hostpeer.Host(target.who())).close()
        target.stop()


@book.row('X010', 'a slow store and many writers')
def x010(t):
    env = t.env
    with t.case('memory is bounded, everything is answered'):
        hosts = [t.keep(hostpeer.Host(env.who(), queues=4, io_sqsize=31)) for _ in range(4)]
        data = os.urandom(4096)
        for h in hosts:
            for q in h.io:
                q.wire.send(b''.join(q.capsule(q.write_sqe(i, data, nsid=NS_SLOW, capsule=True), data) for i in range(31)))
        grown = env.target.rss() - env.watch.base
        expect(grown < ARENA + ((96 << 20) if env.sanitized else (8 << 20)), 'resident memory is %d KiB above the start',
               grown >> 10)
        for h in hosts:
            for q in h.io:
                for cid in range(2, 33):
                    ends(q.wait(cid, within=30), n.OK)


class Traffic(threading.Thread):
    """Commands of all kinds until the connection ends."""

    def __init__(self, who):
        super().__init__(daemon=True)
        self.host = hostpeer.Host(who, queues=2, io_sqsize=31, dgst=3)
        self.answered, self.fault = 0, None

    def run(self):
        q = self.host.io[0]
        data = os.urandom(16384)
        try:
            for _ in range(3):
                self.host.admin.event_request()
            while True:
                cids = [q.submit(q.write_sqe(0, data), write=data), q.submit(q.read_sqe(0, 4096), read=4096),
                        q.submit(q.write_sqe(64, data[:512], nsid=NS_SLOW if self.answered % 2 else NS, capsule=True),
                                 capsule=data[:512])]
                for cid in cids:
                    q.wait(cid)
                    self.answered += 1
        except (wire.Closed, OSError):
            pass
        except Exception as e:
            self.fault = e


@book.row('X012', 'SIGTERM in the middle of traffic')
def x012(t):
    slow = ('memory:16M', 'memory:1M', 'memory:1M', 'memory:16M,filter=delay:200ms:write')
    for name, signals in (('SIGTERM', 1), ('SIGTERM twice', 2)):
        with t.case('%s: ends with 0 in time, the port is closed, no leak, nothing is answered wrongly' % name):
            target = t.keep(serving.Serving(serving.serve_config(slow, drain='2s')))
            hosts = [Traffic(target.who()) for _ in range(4)]
            for h in hosts:
                t.keep(h.host)
                h.start()
            half = wire.dial(target.addrs[0])
            half.send(n.icreq()[:50])
            time.sleep(0.3)
            began = time.monotonic()
            for i in range(signals):
                target.signal(signal.SIGTERM)
                time.sleep(0.05)
            status = target.ended()
            took = time.monotonic() - began
            expect(status == 0 and not target.complaints(), 'it ended with %d: %s', status, '\n'.join(target.complaints()))
            expect(took < 4.0, 'it took %.1f s', took)
            for h in hosts:
                h.join(wire.PATIENCE)
                expect(h.fault is None and h.answered > 0, 'a host: %r', h.fault)
            s = socket.socket()
            expect(s.connect_ex(target.addrs[0]) != 0, 'the port is still open')
            s.close()
            half.close()


@book.row('X014', 'connections that end while their commands are in the store')
def x014(t):
    env = t.env
    with t.case('50 of them; the fence lets their host go on when that has ended'):
        before = env.quiet()
        for i in range(50):
            h = hostpeer.Host(env.who(), io_sqsize=31)
            q = h.io[0]
            q.wire.send(b''.join(q.capsule(q.write_sqe(8 * k, bytes(4096), nsid=NS_SLOW, capsule=True), bytes(4096))
                                 for k in range(8)))
            (q.wire.reset if i % 2 else h.admin.wire.reset)()
            h.close()
        h = env.host(t)
        began = time.monotonic()
        still_right(h.io[0])
        took = time.monotonic() - began
        expect(took < 5.0, 'it took %.1f s', took)
        h.close()
        env.target.settle(before)


@book.row('X015', 'nothing grows with each command')
def x015(t):
    env = t.env
    with t.case('5000 commands of every kind, with every option: resident memory stays'):
        def turn(dgst, cattr, hpda):
            h = env.host(t, dgst=dgst, cattr=cattr, hpda=hpda)
            q = h.io[0]
            for i in range(40):
                still_right(q)
                q.read(1 << 40, 512)
                h.admin.identify(1)
                h.admin.log(1, 64)
                h.admin.abort(i)
                q.command(n.sqe(n.FLUSH, q.next_cid(), NS))
            h.close()

        turn(0, 0, 0)
        base = env.target.rss()
        for dgst in (0, 1, 2, 3):
            for cattr in (0, 4):
                for hpda in (0, 7):
                    turn(dgst, cattr, hpda)
        grown = env.target.rss() - base
        expect(grown < (8 << 20 if env.sanitized else 1 << 20), 'by %d KiB', grown >> 10)
