# SPDX-License-Identifier: Apache-2.0
"""Rows about the client's way through a bad target: connecting step by step, statuses, keep alive, events, loss
and return, and discovery."""
import json
import os
import struct
import time
import uuid

import nvmetcp as n
import rows
import targetpeer
from target_env import QUERY, Discovery, discovery_entry, discovery_log, kind, unreachable
from wire import Closed, expect

book = rows.Book()
SHORT = 'connect_timeout=1s&io_timeout=1s&loss_timeout=2s'
PATH_ERROR, LBA_RANGE_NAME = 0x300, 'LBA Out of Range'


def leaves(c, reset=False):
    """The target ends the connection."""
    if reset:
        c.wire.reset()
    raise Closed('on purpose')


# ---- connecting --------------------------------------------------------------------------------

# Each step of connecting: hook, and which of its calls it is.
STEPS = (
    ('ICReq of the admin queue', 'on_icreq', lambda s, c, *a: len(s.connections) == 1),
    ('Connect of the admin queue', 'on_connect', lambda s, c, *a: c.qid == 0),
    ('CAP', 'on_fabrics', lambda s, c, p, f: f == n.PROPERTY_GET and p.cdw11 == n.CAP),
    ('VS', 'on_fabrics', lambda s, c, p, f: f == n.PROPERTY_GET and p.cdw11 == n.VS),
    ('CC', 'on_fabrics', lambda s, c, p, f: f == n.PROPERTY_SET and p.cdw11 == n.CC),
    ('CSTS', 'on_fabrics', lambda s, c, p, f: f == n.PROPERTY_GET and p.cdw11 == n.CSTS),
    ('Identify Controller', 'on_admin', lambda s, c, p: p.opc == n.IDENTIFY and p.cdw10 & 0xFF == 1),
    ('Number of Queues', 'on_admin', lambda s, c, p: p.opc == n.SET_FEATURES and p.cdw10 & 0xFF == 7),
    ('Identify Namespace', 'on_admin', lambda s, c, p: p.opc == n.IDENTIFY and p.cdw10 & 0xFF == 0),
    ('ICReq of an I/O queue', 'on_icreq', lambda s, c, *a: len(s.connections) > 1),
    ('Connect of an I/O queue', 'on_connect', lambda s, c, *a: c.qid == 2),
)


def failing(hook, which, fail):
    def method(self, c, *args):
        if which(self, c, *args):
            return fail(self, c, *args)
        return getattr(targetpeer.Target, hook)(self, c, *args)
    return kind(**{hook: method})


@book.row('I011', 'connecting that fails at each step')
def i011(t):
    def refuse(self, c, p, *more):
        if p.kind == n.ICREQ:
            c.send(n.term(n.C2H_TERM, n.FES_UNSUPPORTED, n.AT_PFV, p.header))
            leaves(c)
        c.respond(p.cid, n.INTERNAL_ERROR, dnr=True)
    ways = (('a status', refuse), ('the end of the connection', lambda s, c, *a: leaves(c)),
            ('a reset', lambda s, c, *a: leaves(c, True)))
    for step, hook, which in STEPS:
        for way, fail in ways:
            with t.case('%s: %s' % (step, way)):
                target = t.env.target(t, failing(hook, which, fail))
                r = t.env.fails(t.env.info(target, query='queues=3&' + SHORT))
                expect(r.seconds < 3, 'it took %.1f s', r.seconds)
                expect(target.associations <= 1 and not target.faults, '%d associations, %s', target.associations,
                       target.faults)
    targets = [failing(hook, which, lambda s, c, *a: None)() for _, hook, which in STEPS]
    runs = t.env.together([lambda x=x: t.env.info(x, query='queues=3&' + SHORT) for x in targets])
    for (step, _, _), target, run in zip(STEPS, targets, runs):
        with t.case('%s: silence' % step):
            t.keep(target)
            r = t.env.fails(run())
            expect(r.seconds < 6, 'it took %.1f s', r.seconds)
    for name, hooks in (('CSTS.CFS', {'property': lambda s, o: 2 if o == n.CSTS else targetpeer.Target.property(s, o)}),
                        ('queues of one entry', {'property': lambda s, o: 1 << 37 if o == n.CAP else
                                                 targetpeer.Target.property(s, o)}),
                        ('another CNTLID in Identify', {'id_ctrl': lambda s, x=0: targetpeer.Target.id_ctrl(s)[:78] + b'\2\0' +
                                                        targetpeer.Target.id_ctrl(s)[80:]}),
                        ('another CNTLID for an I/O queue', {'on_connect': lambda s, c, p: c.respond(p.cid, result=1 + c.qid)}),
                        ('authentication required', {'on_connect': lambda s, c, p: c.respond(p.cid, result=1 | 1 << 17)}),
                        ('half of Identify Controller', {'on_identify': lambda s, c, p, cns: (
                            c.send(c.c2h(p.cid, 0, bytes(2048))), c.respond(p.cid))}),
                        ('CSTS.RDY that never comes', {'property': lambda s, o: 0 if o == n.CSTS else
                                                       targetpeer.Target.property(s, o)})):
        with t.case('%s: an error that says so' % name):
            target = t.env.target(t, kind(**hooks))
            r = t.env.fails(t.env.info(target, query='queues=2&' + SHORT))
            expect(r.seconds < 3.5, 'it took %.1f s', r.seconds)
    with t.case('ICDOFF, or no SGL offsets: data does not travel in capsules'):
        for at, value in ((1800, b'\1\0'), (536, struct.pack('<I', 1))):
            def id_ctrl(self, nsid=0, at=at, value=value):
                b = targetpeer.Target.id_ctrl(self)
                b[at:at + len(value)] = value
                return b
            target = t.env.target(t, kind(id_ctrl=id_ctrl))
            t.env.writes_right(target, os.urandom(4096))
            expect(not any(q and p.data for q, p in target.commands if p.opc == n.WRITE), 'a write had its data in the capsule')
    with t.case('digests that were not asked for: Invalid PDU Header Field at DGST'):
        def icresp(self, c, p):
            c.send(n.icresp(dgst=3))
            c.expect_term(n.FES_FIELD, n.AT_DGST)
        target = t.env.target(t, kind(on_icreq=icresp))
        t.env.fails(t.env.info(target))
        expect(not target.faults, '%s', target.faults)
    with t.case('digests that were asked for and refused: an error that says so'):
        t.env.fails(t.env.info(t.env.target(t, kind(on_icreq=lambda s, c, p: c.send(n.icresp()))), query='hdgst=1&' + SHORT),
                    'digest')


@book.row('I010', 'keep alive while connecting fails')
def i010(t):
    with t.case('KATO 20 ms and a target that is slow at each step, then leaves: 11 steps'):
        for _, hook, which in STEPS:
            def slow(self, c, *args):
                time.sleep(0.1)
                leaves(c)
            target = t.env.target(t, failing(hook, which, slow))
            t.env.fails(t.env.info(target, query='queues=2&kato=20ms&connect_timeout=2s&loss_timeout=2s'))


@book.row('I012', 'another number of queues than asked for')
def i012(t):
    for granted, asked, used in ((0, 4, 1), (1, 4, 2), (3, 4, 4), (65534, 4, 4), (65535, 2, 2)):
        with t.case('%d asked for, NSQA %d: %d are used' % (asked, granted, used)):
            target = t.env.target(t, kind(queues_granted=granted))
            t.env.reads_right(target, 1 << 18, query='queues=%d&%s' % (asked, QUERY))
            expect(len(target.connections) == 1 + used, '%d connections', len(target.connections))
    with t.case('fewer completion queues than submission queues: the smaller number is used'):
        def features(self, c, p, fid):
            c.respond(p.cid, result=3 | 1 << 16 if fid == 7 else 0)
        target = t.env.target(t, kind(on_set_features=features))
        t.env.reads_right(target, query='queues=4&' + QUERY)
        expect(len(target.connections) == 3, '%d connections', len(target.connections))
    for mqes, maxcmd in ((1, 0), (3, 128), (1023, 2)):
        with t.case('MQES %d, MAXCMD %d: no more commands in flight than that' % (mqes, maxcmd)):
            most = min(mqes, maxcmd or mqes)

            def hold(self, c, p):
                self.held.append(p)
                expect(len(self.held) <= most, '%d commands in flight', len(self.held))
                if len(self.held) == most:
                    for q in self.held:
                        c.send(c.c2h(q.cid, 0, self.blocks(q), success=True))
                    self.held.clear()

            def cap(self, offset):
                value = targetpeer.Target.property(self, offset)
                return value & ~0xFFFF | mqes if offset == n.CAP else value

            def id_ctrl(self, nsid=0):
                b = targetpeer.Target.id_ctrl(self)
                struct.pack_into('<H', b, 514, maxcmd)
                return b
            target = t.env.target(t, kind(on_read=hold, held=[], property=cap, id_ctrl=id_ctrl, mdts=3))
            t.env.reads_right(target, most * 8 * 32768 // (1 if most < 8 else 8), query='depth=64&' + QUERY)


@book.row('I015', 'a TCP connection that does not come about')
def i015(t):
    with t.case('an address that takes no connection: given up within connect_timeout'):
        host, port = unreachable(t)
        r = t.env.run(['info', 'nvme+tcp://%s:%d/%s?connect_timeout=1s' % (host, port, targetpeer.SUBNQN)])
        t.env.fails(r, '%s:%d' % (host, port))
        expect(0.7 < r.seconds < 3, 'it took %.1f s', r.seconds)
    with t.case('a port where nobody listens: at once'):
        target = targetpeer.Target()
        target.close()
        r = t.env.fails(t.env.info(target), 'refused')
        expect(r.seconds < 1, 'it took %.1f s', r.seconds)
    with t.case('each limit begins with its phase: after a loss ICResp and the answer to Connect take more than half of it each'):
        # The first connection as a whole has the same limit, so it is shown by the second.
        def late_icresp(self, c, p):
            time.sleep(2.3 * (self.lost and not self.late))
            targetpeer.Target.on_icreq(self, c, p)

        def late_connect(self, c, p):
            time.sleep(2.3 * (self.lost and not self.late))
            self.late = self.lost
            targetpeer.Target.on_connect(self, c, p)

        def lose(self, c, p):
            if not self.lost:
                self.lost = True
                leaves(c)
            targetpeer.Target.on_read(self, c, p)
        target = t.env.target(t, kind(on_icreq=late_icresp, on_connect=late_connect, on_read=lose, lost=False,
                                      late=False))
        t.env.reads_right(target, query='connect_timeout=4s&io_timeout=5s&loss_timeout=30s')
        expect(target.associations == 2, 'it took %d associations', target.associations)


@book.row('I021', 'a target that refuses all that is optional')
def i021(t):
    def only_queues(self, c, p, fid):
        if fid == 7:
            return targetpeer.Target.on_set_features(self, c, p, fid)
        c.respond(p.cid, n.INVALID_FIELD, dnr=True)

    def only_first(self, c, p, cns):
        if cns in (0, 1, 2):
            return targetpeer.Target.on_identify(self, c, p, cns)
        c.respond(p.cid, n.INVALID_FIELD, dnr=True)

    def nothing(self, c, p):
        if p.opc in (n.IDENTIFY, n.SET_FEATURES):
            return targetpeer.Target.on_admin(self, c, p)
        c.respond(p.cid, n.INVALID_OPCODE, dnr=True)
    for name, hooks in (('Set Features but Number of Queues', {'on_set_features': only_queues}),
                        ('Identify but the first three', {'on_identify': only_first}),
                        ('Keep Alive, events, logs, Get Features', {'on_admin': nothing})):
        with t.case('%s: reads and writes all the same' % name):
            target = t.env.target(t, kind(**hooks))
            t.env.writes_right(target, os.urandom(65536), query='queues=2&' + QUERY.replace('kato=10s', 'kato=300ms'),
                               keep_open=0.8)
            t.env.reads_right(target)
    with t.case('AERL 0 and an error for the event request: it is not sent again'):
        target = t.env.target(t, kind(on_event_request=lambda s, c, p: (s.saw('event request', c), c.respond(p.cid, n.EVENT_LIMIT))))
        t.env.writes_right(target, bytes(4096), keep_open=0.5)
        expect(target.count('event request') == 1, '%d requests', target.count('event request'))


@book.row('C010', 'who the client says it is')
def c010(t):
    nqn, ident = 'nqn.2014-08.org.nvmexpress:uuid:11111111-2222-4333-8444-555555555555', '11111111-2222-4333-8444-555555555555'
    cases = (('a host NQN with a UUID', ['--hostnqn', nqn], nqn, ident),
             ('a host ID alone', ['--hostid', ident], nqn, ident),
             ('both', ['--hostnqn', 'nqn.2026-11.io.penstock:me', '--hostid', ident], 'nqn.2026-11.io.penstock:me', ident))
    for name, words, want_nqn, want_id in cases:
        with t.case('%s: the other is derived from it' % name):
            target = t.env.target(t)
            expect(t.env.run(['info', target.uri(QUERY)] + words).status == 0, 'it failed')
            for _, p in target.commands:
                if p.opc == n.FABRICS and p.raw[12] == n.CONNECT:
                    expect(p.data[512:768].rstrip(b'\0').decode() == want_nqn, 'host NQN %r', p.data[512:768])
                    expect(p.data[:16] == uuid.UUID(want_id).bytes, 'host ID %s', p.data[:16].hex())
    with t.case('nothing said: a valid NQN, an ID that is not zero and belongs to it, the same on every queue'):
        target = t.env.target(t)
        expect(t.env.info(target, query='queues=2&' + QUERY).status == 0, 'it failed')
        said = {(p.data[512:768].rstrip(b'\0').decode(), p.data[:16]) for _, p in target.commands
                if p.opc == n.FABRICS and p.raw[12] == n.CONNECT}
        expect(len(said) == 1, '%d identities', len(said))
        name, ident = said.pop()
        expect(name.startswith('nqn.') and any(ident), '%s %s', name, ident.hex())
    for words in (['--hostnqn', 'me'], ['--hostid', '0'], ['--hostid', '00000000-0000-0000-0000-000000000000']):
        with t.case('%s: an error that says what is expected' % ' '.join(words)):
            t.env.fails(t.env.run(['info', t.env.target(t).uri(QUERY)] + words), words[1][:8])


@book.row('C003', 'Connect that is refused')
def c003(t):
    for name, status, result, words in (('Invalid Host', n.CONNECT_HOST, 0, ['Invalid Host']),
                                        ('Invalid Parameters, SUBNQN', n.CONNECT_PARAM, 256 | 1 << 16, ['Invalid Parameters', 'no subsystem']),
                                        ('Controller Busy', n.CONNECT_BUSY, 0, ['Busy'])):
        with t.case('%s: said by name, not tried again for ever' % name):
            def refuse(self, c, p, status=status, result=result):
                c.respond(p.cid, status, result, dnr=status != n.CONNECT_BUSY)
                leaves(c)
            r = t.env.fails(t.env.info(t.env.target(t, kind(on_connect=refuse)), query=SHORT), *words)
            expect(r.seconds < 4, 'it took %.1f s', r.seconds)


# ---- statuses ----------------------------------------------------------------------------------

@book.row('T034', 'a status whose code is 0 and whose type is not')
def t034(t):
    def path_error(self, c, p):
        if self.errors:
            self.errors -= 1
            # What an attacker, or a bug, would like to be taken for data.
            c.send(c.c2h(p.cid, 0, b'\xEE' * p.sgl_len, last=True))
            return c.respond(p.cid, self.status, dnr=self.dnr)
        targetpeer.Target.on_read(self, c, p)
    for status in (PATH_ERROR, 0x100, 0x200, 0x700):
        with t.case('0x%03x with data: not taken for data; asked for again' % status):
            t.env.reads_right(t.env.target(t, kind(on_read=path_error, errors=1, status=status, dnr=False)))
        with t.case('0x%03x with Do Not Retry: the read fails, no byte is given out' % status):
            target = t.env.target(t, kind(on_read=path_error, errors=99, status=status, dnr=True))
            r = t.env.fails(t.env.read(target))
            expect(r.out == b'' and target.errors == 98, '%d bytes, %d tries', len(r.out), 99 - target.errors)
    with t.case('LBA Out of Range with Do Not Retry: said by name, asked once'):
        target = t.env.target(t, kind(on_read=path_error, errors=9, status=n.LBA_RANGE, dnr=True))
        t.env.fails(t.env.read(target), LBA_RANGE_NAME)
        expect(target.errors == 8, '%d tries', 9 - target.errors)
    with t.case('Command Interrupted for ever: given up'):
        target = t.env.target(t, kind(on_read=path_error, errors=1 << 30, status=n.INTERRUPTED, dnr=False))
        r = t.env.fails(t.env.read(target), 'Interrupted')
        expect(r.seconds < 10 and (1 << 30) - target.errors < 100, 'after %.1f s', r.seconds)
    with t.case('a write that fails: the data is not called written'):
        def fails(self, c, p, write, data):
            del c.pending[p.ttag]
            c.respond(write.cid, n.WRITE_FAULT, dnr=True)
        t.env.fails(t.env.write(t.env.target(t, kind(on_h2c=fails, maxh2cdata=1 << 20)), os.urandom(131072)), 'Write Fault')
    with t.case('a flush that fails: neither'):
        def no_flush(self, c, p):
            if p.opc == n.FLUSH:
                return c.respond(p.cid, n.WRITE_FAULT, dnr=True)
            targetpeer.Target.on_io(self, c, p)

        def cached(self, nsid=0):
            b = targetpeer.Target.id_ctrl(self)
            b[525] = 1
            return b
        t.env.fails(t.env.write(t.env.target(t, kind(on_io=no_flush, id_ctrl=cached)), os.urandom(4096)), 'Write Fault')


# ---- time, events, loss and return -------------------------------------------------------------

@book.row('K001', 'keep alive of an idle client')
def k001(t):
    with t.case('sent well within KATO, while nothing else is'):
        target = t.env.target(t)
        t.env.writes_right(target, bytes(4096), query='kato=1s&connect_timeout=2s', keep_open=2.5)
        count = sum(1 for q, p in target.commands if q == 0 and p.opc == n.KEEP_ALIVE)
        expect(2 <= count <= 12, '%d of them in 2.5 s', count)
        kato = [struct.unpack_from('<I', p.raw, 56)[0] for q, p in target.commands
                if p.opc == n.FABRICS and p.raw[12] == n.CONNECT]
        expect(kato[0] == 1000 and not any(kato[1:]), 'KATO in Connect: %s', kato)
    with t.case('none before the controller is enabled'):
        enabled = [i for i, (q, p) in enumerate(target.commands) if p.opc == n.FABRICS and p.raw[12] == n.PROPERTY_SET]
        first = [i for i, (q, p) in enumerate(target.commands) if q == 0 and p.opc == n.KEEP_ALIVE]
        expect(enabled[0] < first[0], 'in another order')


@book.row('K002', 'a target that falls silent without closing')
def k002(t):
    with t.case('noticed by KATO long before the time limit of I/O; the read is done on the next association'):
        class Silent(targetpeer.Target):
            """From the first read on it answers nothing, on any queue of that association."""
            quiet = False

            def on_read(self, c, p):
                if self.associations > 1:
                    return super().on_read(c, p)
                self.quiet = True

            def on_admin(self, c, p):
                if not (self.quiet and self.associations == 1):
                    super().on_admin(c, p)
        r = t.env.reads_right(t.keep(Silent()), query='kato=1s&io_timeout=30s&connect_timeout=2s&loss_timeout=10s')
        expect(r.seconds < 5, 'it took %.1f s', r.seconds)


@book.row('I009', 'an event that comes while the connection ends')
def i009(t):
    with t.case('at the moment the admin queue is closed, 12 associations: no request is sent where none may be'):
        class Eventful(targetpeer.Target):
            def on_event_request(self, c, p):
                super().on_event_request(c, p)
                if self.associations <= 12:
                    c.send(c.rsp(p.cid, result=2 | 0 << 8 | 4 << 16))
                    leaves(c, self.associations % 2)

            def on_read(self, c, p):
                if self.associations > 12:
                    super().on_read(c, p)
        target = t.keep(Eventful())
        t.env.reads_right(target, query='io_timeout=2s&connect_timeout=3s&loss_timeout=20s', within=40)
        per = {}
        for what, c, _ in target.seen:
            per[c.number] = per.get(c.number, 0) + (what == 'event request')
        expect(max(per.values()) <= 2, '%s', per)
    with t.case('100 events at once, each answered by a new request, and I/O meanwhile'):
        class Storm(targetpeer.Target):
            left = 100

            def on_event_request(self, c, p):
                if self.left:
                    self.left -= 1
                    return c.respond(p.cid, result=2 | 0 << 8 | 4 << 16)
                super().on_event_request(c, p)

            def on_log(self, c, p, lid):
                c.answer_data(p, bytes(p.sgl_len))
        target = t.keep(Storm())
        t.env.writes_right(target, os.urandom(300000), keep_open=0.3)
        expect(target.left == 0, '%d events were not asked for', target.left)


@book.row('X002', 'a target that is gone for good')
def x002(t):
    with t.case('given up after loss_timeout, every I/O with an error'):
        def gone(self, c, p):
            self.sock.close()
            self.stopping = True
            for x in self.connections:
                x.wire.sock.shutdown(2)
            leaves(c)
        r = t.env.fails(t.env.read(t.env.target(t, kind(on_read=gone)), 1 << 20, query=SHORT))
        expect(1.5 < r.seconds < 5, 'it took %.1f s', r.seconds)
    with t.case('and when each connection is accepted and closed: the same'):
        def closing(self, sock):
            if self.read:
                sock.close()
            return not self.read

        def first(self, c, p):
            self.read = True
            for x in self.connections:
                x.wire.sock.shutdown(2)
            leaves(c)
        r = t.env.fails(t.env.read(t.env.target(t, kind(on_read=first, read=False, on_accept=closing)), 1 << 20, query=SHORT))
        expect(1.5 < r.seconds < 5, 'it took %.1f s', r.seconds)


@book.row('X001', 'associations that are lost again and again')
def x001(t):
    # The pauses grow while connecting fails, so there are fewer of those.
    for name, hook, most in (('during I/O', 'on_read', 10), ('during connecting', 'on_admin', 3),
                             ('as soon as TCP is connected', 'on_icreq', 3)):
        with t.case('%s, %d times, by turns with a reset; then all is done' % (name, most)):
            def lose(self, c, *args, hook=hook):
                if self.losses < self.most and self.live:
                    self.losses += 1
                    leaves(c, self.losses % 2)
                return getattr(targetpeer.Target, hook)(self, c, *args)

            def live(self, c, p):
                if not self.live:
                    self.live = True
                    leaves(c)
                if 'on_read' in self.__class__.__dict__ and self.losses < self.most and hook == 'on_read':
                    return lose(self, c, p)
                return targetpeer.Target.on_read(self, c, p)
            hooks = {hook: lose, 'on_read': live, 'losses': 0, 'live': False, 'most': most}
            target = t.env.target(t, kind(**hooks))
            t.env.reads_right(target, 1 << 18, query='queues=3&io_timeout=1s&connect_timeout=2s&loss_timeout=30s', within=40)
            expect(target.losses == target.most, '%d losses', target.losses)


@book.row('N007', 'a namespace that is not there, or another one, after the return')
def n007(t):
    def lose(self, c, p):
        if self.associations == 1:
            leaves(c)
        targetpeer.Target.on_read(self, c, p)

    def absent(self, nsid):
        if nsid == 1 and 1 < self.associations < 4:
            return b''
        return targetpeer.Target.id_ns(self, nsid)
    with t.case('not there twice, then there: the read waits for it'):
        target = t.env.target(t, kind(on_read=lose, id_ns=absent))
        t.env.reads_right(target, query='io_timeout=1s&connect_timeout=2s&loss_timeout=10s')
    with t.case('not there any more: given up after loss_timeout'):
        def gone(self, nsid):
            return b'' if self.associations > 1 else targetpeer.Target.id_ns(self, nsid)
        r = t.env.fails(t.env.read(t.env.target(t, kind(on_read=lose, id_ns=gone)), query=SHORT))
        expect(r.seconds < 6, 'it took %.1f s', r.seconds)
    with t.case('another UUID under the same NSID: no I/O goes to it (N005)'):
        def other(self, nsid):
            return struct.pack('<BBH', 3, 16, 0) + (self.uuid if self.associations == 1 else bytes(15) + b'\1')

        target = t.env.target(t, kind(on_read=lambda s, c, p: leaves(c) if s.associations == 1 else
                                      s.saw('read', c), ns_descriptors=other))
        t.env.fails(t.env.read(target, query=SHORT))
        expect(target.count('read') == 0, 'it was read from')


# ---- discovery ---------------------------------------------------------------------------------

def discover(t, target, *more):
    return t.env.run(['discover', '127.0.0.1:%d' % target.addr[1], *more])


@book.row('D001', 'a discovery log that changes while it is read')
def d001(t):
    entries = [discovery_entry('10.0.0.%d' % (i % 250), subnqn='nqn.2026-11.io.penstock:s%03d' % i) for i in range(200)]

    class Changing(Discovery):
        calls, changes = 0, 3

        def log_page(self):
            self.calls += 1
            self.changes -= self.changes > 0 and self.calls % 3 == 0
            # A log that is torn has entries of both generations.
            return discovery_log(100 - self.changes, entries[self.changes:])
    with t.case('three times: read anew until header and entries are of one generation'):
        target = t.keep(Changing(size=4096))
        r = discover(t, target, '--output-format', 'json')
        expect(r.status == 0, r.err)
        d = json.loads(r.out)
        names = [e['subsystem_nqn'] for e in d['entries']]
        expect(names == ['nqn.2026-11.io.penstock:s%03d' % i for i in range(200)], '%d entries', len(names))
    with t.case('for ever: an error, not a torn list'):
        target = t.keep(type('Never', (Changing,), {'log_page': lambda s: (setattr(s, 'calls', s.calls + 1),
                                                                          discovery_log(s.calls, entries))[1]})(size=4096))
        r = t.env.fails(discover(t, target), 'log')
        expect(r.out == b'', 'something was printed')


@book.row('D005', 'a discovery log whose header lies')
def d005(t):
    one = discovery_entry('10.0.0.1')
    for name, page, good in (('NUMREC 2^64-1', discovery_log(1, [one], (1 << 64) - 1), False),
                             ('NUMREC 2^32', discovery_log(1, [one], 1 << 32), False),
                             ('a record format of 1', struct.pack('<QQH', 1, 1, 1).ljust(1024, b'\0') + one, False),
                             ('no entry', discovery_log(1, []), True)):
        with t.case('%s: %s' % (name, 'an empty list' if good else 'an error')):
            target = t.keep(type('Lying', (Discovery,), {'log_page': lambda s, page=page: page})(size=4096))
            r = discover(t, target)
            expect(r.status == (0 if good else 1), '%d: %s', r.status, r.err)
    with t.case('a log that ends early: an error'):
        class Short(Discovery):
            def on_log(self, c, p, lid):
                c.send(c.c2h(p.cid, 0, self.log_page()[:512]))
                c.respond(p.cid)
        t.env.fails(discover(t, t.keep(Short(size=4096))))


@book.row('C014', 'ASCII fields of a discovery log')
def c014(t):
    with t.case('trailing spaces or NULs are cut off, control characters do not reach the terminal'):
        class Padded(Discovery):
            def log_page(self):
                return discovery_log(1, [discovery_entry('10.0.0.1   '), discovery_entry('10.0.0.2', pad=b'\0'),
                                         discovery_entry('10.0.0.3\x1b[31m\n'),
                                         discovery_entry('1' * 256, '4' * 32, b'nqn.2014-08.org:' + b'\xff' * 240)])
        target = t.keep(Padded(size=4096))
        r = discover(t, target, '--output-format', 'json')
        expect(r.status == 0, r.err)
        got = [e['address'] for e in json.loads(r.out)['entries']]
        expect(got[:2] == ['10.0.0.1', '10.0.0.2'], '%s', got)
        r = discover(t, target)
        expect(r.status == 0 and b'\x1b' not in r.out and b'\xff' not in r.out, '%r', r.out)


@book.row('D007', 'discovery of an old target, which takes no KATO')
def d007(t):
    with t.case('KATO of a discovery controller is 0'):
        class Old(Discovery):
            def on_connect(self, c, p):
                kato = struct.unpack_from('<I', p.raw, 56)[0]
                c.respond(p.cid, n.CONNECT_PARAM if kato else n.OK, result=0 if kato else 1)
        r = discover(t, t.keep(Old(size=4096)))
        expect(r.status == 0, r.err)
