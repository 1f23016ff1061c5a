# SPDX-License-Identifier: Apache-2.0
"""Rows of our own about a target that says strange things of itself, or changes while it is away: F numbers are
ours, for faults that are in no report we know of but are of the same kinds as those that are."""
import os
import struct
import time

import nvmetcp as n
import rows
import targetpeer
from target_env import QUERY, kind, terms
from target_life import SHORT, leaves
from wire import expect

book = rows.Book()
Base = targetpeer.Target


def identified(method='id_ctrl', **at):
    """A hook that changes bytes of an Identify page: at_N=bytes."""
    def page(self, nsid=0):
        b = bytearray(getattr(Base, method)(self, nsid))
        if method == 'id_ns' and nsid != 1:
            return b
        for name, value in at.items():
            where = int(name[3:])
            b[where:where + len(value)] = value
        return b
    return {method: page}


def cap_with(value):
    """value(CAP) instead of it."""
    return {'property': lambda s, offset: value(Base.property(s, offset)) if offset == n.CAP else Base.property(s,
                                                                                                                offset)}


@book.row('F01', 'limits of a controller at their ends: MDTS, MQES, IOCCSZ, MPSMIN, KAS')
def f01(t):
    for name, hooks in (('MDTS 0: no limit', {'mdts': 0}), ('MDTS 1', {'mdts': 1}), ('MDTS 255', {'mdts': 255}),
                        ('MDTS 31', {'mdts': 31}),
                        ('CAP.MQES 1: two entries', cap_with(lambda c: c & ~0xFFFF | 1)),
                        ('CAP.MQES 65535', cap_with(lambda c: c | 0xFFFF)),
                        ('CAP.MPSMIN 15 and MDTS 255', {**cap_with(lambda c: c | 15 << 48 | 15 << 52), 'mdts': 255}),
                        ('CAP.TO 0', cap_with(lambda c: c & ~(0xFF << 24))),
                        ('IOCCSZ 4: no data in capsules', {'in_capsule': 0}), ('IOCCSZ for 16 bytes', {'in_capsule': 16}),
                        ('IOCCSZ 2^32-1', identified(at_1792=b'\xff' * 4)), ('IOCCSZ 0', identified(at_1792=bytes(4))),
                        ('KAS 0: no Keep Alive', identified(at_320=bytes(2))),
                        ('MAXCMD 1', identified(at_514=b'\1\0')), ('MAXCMD 65535', identified(at_514=b'\xff\xff')),
                        ('all optional commands, limits and features', identified(at_520=b'\xff\xff', at_525=b'\xff')),
                        ('CRDT 65535', identified(at_128=b'\xff' * 6)), ('CQT 65535', identified(at_386=b'\xff\xff'))):
        with t.case('%s: reads and writes all the same' % name):
            target = t.env.target(t, kind(**hooks))
            t.env.writes_right(target, os.urandom(300 * 1024))
            t.env.reads_right(target, 300 * 1024)
    with t.case('CAP.MQES 0, one entry: an error that says so'):
        t.env.fails(t.env.info(t.env.target(t, kind(**cap_with(lambda c: c & ~0xFFFF)))), 'entries')


@book.row('F02', 'namespaces in formats of no sense, or that are not supported')
def f02(t):
    def lbaf(ms, lbads):
        return struct.pack('<HBB', ms, lbads, 0)
    for name, hooks in (('metadata of 8 bytes', identified('id_ns', at_128=lbaf(8, 9))),
                        ('blocks of 4096 and metadata', identified('id_ns', at_128=lbaf(8, 12))),
                        ('LBADS 0', identified('id_ns', at_128=lbaf(0, 0))),
                        ('LBADS 8', identified('id_ns', at_128=lbaf(0, 8))),
                        ('LBADS 32', identified('id_ns', at_128=lbaf(0, 32))),
                        ('LBADS 255', identified('id_ns', at_128=lbaf(0, 255))),
                        ('a format beyond the last', identified('id_ns', at_26=b'\x0f')),
                        ('FLBAS 7Fh', identified('id_ns', at_25=b'\xff\x7f')),
                        ('NSZE 0', identified('id_ns', at_0=bytes(8)))):
        with t.case('%s: an error, no I/O' % name):
            target = t.env.target(t, kind(**hooks))
            t.env.fails(t.env.read(target))
            expect(not any(q for q, p in target.commands if q and p.opc == n.READ), 'it was read from')
    for lbads in (13, 16):
        for mdts in (0, 1, 5, 9):
            with t.case('blocks of %d and MDTS %d: right, or an error that says so' % (1 << lbads, mdts)):
                def where(self, p, lbads=lbads):
                    return (p.cdw10 | p.cdw11 << 32) << lbads, ((p.cdw12 & 0xFFFF) + 1) << lbads
                target = t.env.target(t, kind(mdts=mdts, where=where, **identified(
                    'id_ns', at_0=struct.pack('<QQQ', *[(1 << 20) >> lbads] * 3), at_128=lbaf(0, lbads))))
                if mdts and 4096 << mdts < 1 << lbads:
                    t.env.fails(t.env.read(target))
                else:
                    t.env.reads_right(target, 300 * 1024)
                    t.env.writes_right(target, os.urandom(300 * 1024))
    for nsze in (1 << 55, (1 << 55) - 1, (1 << 64) - 1):
        with t.case('NSZE %d: its first blocks are read, and those past the end of what bytes can count are not' % nsze):
            target = t.env.target(t, kind(**identified('id_ns', at_0=struct.pack('<QQQ', nsze, nsze, nsze))))
            t.env.reads_right(target)
            r = t.env.read(target, 512, (1 << 64) - 512)
            expect(r.status == 1, 'the end of the world was read')
            t.env.run(['doctor', target.uri(QUERY)])
    with t.case('NPWG 65535 with blocks of 65536: no limit becomes 0'):
        target = t.env.target(t, kind(mdts=8, where=lambda s, p: ((p.cdw10 | p.cdw11 << 32) << 16,
                                                                  ((p.cdw12 & 0xFFFF) + 1) << 16),
                                      **identified('id_ns', at_0=struct.pack('<QQQ', 16, 16, 16), at_24=b'\x10',
                                                   at_64=b'\xff' * 10, at_128=lbaf(0, 16))))
        t.env.reads_right(target, 300 * 1024)


@book.row('F03', 'a namespace that has other blocks, or another size, after the return')
def f03(t):
    def changed(method, **at):
        page = identified(method, **at)[method]
        return {method: lambda self, nsid=0: page(self, nsid) if self.associations > 1 else getattr(Base,
                                                                                                    method)(self, nsid)}

    def lost(self, c, p):
        if self.associations == 1:
            leaves(c)
        self.saw('io', c, p)
        c.respond(p.cid, n.INVALID_FIELD, dnr=True)
    for name, at in (('blocks of 4096 instead of 512', {'at_0': struct.pack('<QQQ', 256, 256, 256),
                                                        'at_128': struct.pack('<HBB', 0, 12, 0)}),
                     ('metadata', {'at_128': struct.pack('<HBB', 8, 9, 0)}),
                     ('another NGUID', {'at_104': b'\x77' * 16}), ('another EUI64', {'at_120': b'\x77' * 8})):
        with t.case('%s: no I/O that was planned for the old one goes to it' % name):
            target = t.env.target(t, kind(on_io=lost, **changed('id_ns', **at)))
            t.env.fails(t.env.read(target, query=SHORT))
            expect(target.count('io') == 0, 'it got %s', target.details('io'))
    with t.case('a smaller one: what is behind its end fails, by name'):
        def half(self, c, p):
            if self.associations == 1:
                leaves(c)
            if self.where(p)[0] >= 1 << 19:
                return c.respond(p.cid, n.LBA_RANGE, dnr=True)
            Base.on_read(self, c, p)
        target = t.env.target(t, kind(on_read=half, **changed('id_ns', at_0=struct.pack('<QQQ', 1024, 1024, 1024))))
        r = t.env.fails(t.env.read(target, 65536, 1 << 19, query=QUERY), 'LBA Out of Range')
        expect(r.out == b'', 'bytes came out')
    with t.case('MDTS, IOCCSZ and MQES that are smaller: nothing larger is sent'):
        def id_ctrl(self, nsid=0):
            b = Base.id_ctrl(self)
            if self.associations > 1:
                b[77] = 1
                b[1792:1796] = struct.pack('<I', 4)
            return b

        def on_io(self, c, p):
            if self.associations == 1:
                leaves(c)
            expect(p.sgl_len <= 8192, '%d bytes although MDTS is 8192', p.sgl_len)
            expect(not p.data, 'data in a capsule although IOCCSZ is 4')
            Base.on_io(self, c, p)
        target = t.env.target(t, kind(on_io=on_io, id_ctrl=id_ctrl))
        t.env.write(target, os.urandom(300 * 1024))
        expect(not target.faults, '%s', target.faults)
        t.env.read(target, 300 * 1024)
        expect(not target.faults, '%s', target.faults)


@book.row('F04', 'answers that are right but for a field that means nothing here')
def f04(t):
    def respond(self, c, p, **wrong):
        data = self.blocks(p)
        c.send(c.c2h(p.cid, 0, data, last=True))
        raw = bytearray(n.rsp(p.cid, digests=c.tx))
        for at, value in wrong.items():
            struct.pack_into('<H', raw, int(at[3:]), value)
        c.send(bytes(raw))
    for name, wrong in (('the phase bit', {'at_22': 1}), ('an SQID of another queue', {'at_18': 7}),
                        ('SQHD beyond the queue', {'at_16': 0xFFFF}), ('a result', {'at_8': 0xDEAD, 'at_12': 0xBEEF})):
        with t.case('%s in a completion: the read is right' % name):
            t.env.reads_right(t.env.target(t, kind(on_read=lambda s, c, p, w=wrong: respond(s, c, p, **w))))
    with t.case('reserved bytes of every PDU are not looked at'):
        def noisy(self, c, p):
            data = self.blocks(p)
            raw = bytearray(c.c2h(p.cid, 0, data, last=True))
            raw[10:12], raw[20:24] = b'\xff\xff', b'\xff' * 4
            raw[1] |= 0xF0
            c.send(bytes(raw))
            c.respond(p.cid)
        t.env.reads_right(t.env.target(t, kind(on_read=noisy)))


@book.row('F05', 'answers on another queue than that of the command')
def f05(t):
    # Both kinds of answer name the command by its CID alone, and each queue has its own: nothing but that the CID
    # is in use there tells a stray answer from a right one.
    for name, answer in (('data', lambda c, p: c.c2h(p.cid, 0, bytes(p.sgl_len))), ('a completion', lambda c,
                                                                                    p: c.rsp(p.cid))):
        with t.case('%s of a read comes on the admin queue: %s, then all is right' % (name, 'Invalid PDU Header Field')):
            def cross(self, c, p, answer=answer):
                if self.associations > 1:
                    return Base.on_read(self, c, p)
                admin = next(x for x in self.connections if x.qid == 0)
                return admin.send(answer(admin, p))
            target = t.env.target(t, kind(on_read=cross))
            t.env.reads_right(target)
            expect(terms(target) and terms(target)[0][0] == n.FES_FIELD, 'the client sent %s', terms(target))


@book.row('F06', 'namespace lists, events and statuses of no sense')
def f06(t):
    for name, page in (('every entry FFFFFFFFh', b'\xff' * 4096), ('1024 times NSID 1', struct.pack('<I', 1) * 1024),
                       ('descending', struct.pack('<1024I', *range(1024, 0, -1)))):
        with t.case('a namespace list, %s: info ends' % name):
            target = t.env.target(t, kind(ns_list=lambda s, nsid, page=page: page))
            t.env.info(target)
            t.env.reads_right(target)
    overrun = bytes([2, 16]) + bytes(2) + b'\5' * 16 + struct.pack('<BBH', 3, 255, 0) + b'\xff' * 4000
    for name, page in (('of length 0', struct.pack('<BBH', 3, 0, 0) * 1024), ('that overrun the page', overrun),
                       ('of unknown types', struct.pack('<BBH', 77, 60, 0).ljust(64, b'x') * 64)):
        with t.case('descriptors %s: an error or a namespace without a UUID' % name):
            target = t.env.target(t, kind(ns_descriptors=lambda s, nsid, page=page: page))
            r = t.env.read(target)
            expect(r.status or r.out == bytes(target.memory[:65536]), 'other bytes came out')
    with t.case('every event there can be, one after the other: nothing happens but a new request'):
        def event(self, c, p):
            self.at += 1
            if self.at < 200:
                c.respond(p.cid, result=(self.at % 8) | (self.at * 37 & 0xFF) << 8 | (self.at * 11 & 0xFF) << 16)
        target = t.env.target(t, kind(on_event_request=event, at=0,
                                      on_log=lambda s, c, p, lid: c.answer_data(p, os.urandom(p.sgl_len))))
        t.env.reads_right(target, 1 << 20, query='depth=1&' + QUERY)
    with t.case('every status but success, with and without data: the read fails, no byte is given out'):
        def status(self, c, p):
            self.at += 1
            code = (self.at * 7) % 0x7FF + 1
            if self.at % 2:
                c.send(c.c2h(p.cid, 0, self.blocks(p)))
            c.respond(p.cid, code, dnr=True)
        target = t.env.target(t, kind(on_read=status, at=0))
        for _ in range(12):
            r = t.env.fails(t.env.read(target))
            expect(r.out == b'', '%d bytes came out', len(r.out))
    with t.case('CSTS of all ones while enabling: an error, soon'):
        r = t.env.fails(t.env.info(t.env.target(t, kind(property=lambda s,
                                                        o: 0xFFFFFFFF if o == n.CSTS else Base.property(s, o))),
                                   query=SHORT))
        expect(r.seconds < 4, 'it took %.1f s', r.seconds)


@book.row('F07', 'the end of a session that a target will not let come')
def f07(t):
    for name, hooks in (('Disconnect is never answered', {'on_fabrics': lambda s, c, p, f: None if f == n.DISCONNECT else
                                                          Base.on_fabrics(s, c, p, f), **identified(at_1804=b'\1\0')}),
                        ('the shutdown notification is never answered', {'on_fabrics': lambda s, c, p,
                                                                         f: None if f == n.PROPERTY_SET and
                                                                         p.cdw12 >> 14 & 3 else Base.on_fabrics(s, c,
                                                                                                                p, f)}),
                        ('SHST never says complete', {'property': lambda s,
                                                      o: s.cc & 1 if o == n.CSTS else Base.property(s, o)})):
        with t.case('%s: the client ends within its limit, its data is right' % name):
            r = t.env.reads_right(t.env.target(t, kind(**hooks)))
            expect(r.seconds < 8, 'it took %.1f s', r.seconds)
    with t.case('the target closes while it is being left: no error'):
        def closes(self, c, p, f):
            if f == n.PROPERTY_SET and p.cdw12 >> 14 & 3:
                leaves(c, reset=True)
            Base.on_fabrics(self, c, p, f)
        t.env.reads_right(t.env.target(t, kind(on_fabrics=closes)))


@book.row('F08', 'retries that a target asks for')
def f08(t):
    with t.case('Namespace Not Ready with CRD 3 and CRDT3 300 ms: once, after 300 ms, then right'):
        def busy(self, c, p):
            if self.busy:
                self.busy -= 1
                self.began = time.monotonic()
                c.send(n.rsp(p.cid, 0x82 | 3 << 11, digests=c.tx))
                return
            if self.began:
                self.after.append(time.monotonic() - self.began)
                self.began = None
            Base.on_read(self, c, p)
        target = t.env.target(t, kind(on_read=busy, busy=1, began=None, after=[], mdts=9, **identified(at_132=b'\3\0')))
        t.env.reads_right(target, query='depth=1&' + QUERY)
        expect(target.after and 0.28 < target.after[0] < 1.5, 'after %s s', target.after)
    with t.case('never a success: given up after its retries, by name'):
        target = t.env.target(t, kind(on_read=lambda s, c, p: c.respond(p.cid, 0x82)))
        r = t.env.fails(t.env.read(target), 'Namespace Not Ready')
        expect(r.seconds < 10, 'it took %.1f s', r.seconds)
