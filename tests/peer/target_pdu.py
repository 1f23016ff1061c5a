# SPDX-License-Identifier: Apache-2.0
"""Rows about PDUs of a bad target: data that was not asked for, too little of it, R2Ts of no sense, headers that
lie. What matters most is in each of them: the client sends no memory that is not a write's, and reports no data
that did not come."""
import os
import random
import struct
import time

import nvmetcp as n
import rows
import targetpeer
from target_env import QUERY, kind, once, terms
from wire import Closed, expect

book = rows.Book()


def ended(c, fes, fei=None):
    """What every hook ends with: the H2CTermReq that must come (Closed is raised)."""
    c.expect_term(fes, fei)


def answers_wrong(t, name, fes, fei, hook, at='on_read', query=QUERY, run=None):
    """A target that answers a command wrongly on its first association. The client says so, connects anew, and
    ends with the right result."""
    def wrong(self, c, p):
        hook(c, p)
        ended(c, fes, fei)
    wrong.__name__ = at
    with t.case(name):
        target = t.env.target(t, kind(**{at: once(wrong)}))
        if run:
            run(target)
        elif at == 'on_write':
            t.env.writes_right(target, os.urandom(262144), query=query)
        else:
            t.env.reads_right(target, query=query)
        expect(terms(target) and terms(target)[0][0] == fes, 'the client sent %s', terms(target))
        expect(target.associations >= 2, 'it did not connect anew')


def fes_name(fes, fei=None):
    return n.FES_NAMES[fes] + ('' if fei is None else ' at %d' % fei)


@book.row('I001', 'an R2T for a command that has nothing to send')
def i001(t):
    seq = n.FES_SEQUENCE
    for query in (QUERY, QUERY + '&hdgst=1&ddgst=1'):
        answers_wrong(t, 'for a Read%s: %s, no byte of memory is sent' % (' with digests' if 'hdgst' in query else '',
                                                                        fes_name(seq)), seq, None,
                      lambda c, p: c.send(c.r2t(p.cid, 1, 0, p.sgl_len)), query=query)
    answers_wrong(t, 'for a Read whose data is half there: %s' % fes_name(seq), seq, None,
                  lambda c, p: c.send(c.c2h(p.cid, 0, bytes(512), last=False) + c.r2t(p.cid, 1, 512, 512)))

    def flush(target):
        data = os.urandom(4096)
        t.env.writes_right(target, data)

    def flushed(self, c, p):
        if p.opc == n.FLUSH and self.associations == 1:
            c.send(c.r2t(p.cid, 1, 0, 512))
            ended(c, n.FES_SEQUENCE)
        targetpeer.Target.on_io(self, c, p)

    with t.case('for a Flush: %s' % fes_name(seq)):
        target = t.env.target(t, kind(on_io=flushed))
        flush(target)
        expect(terms(target)[:1] == [(seq, 0)], 'the client sent %s', terms(target))

    def in_capsule(c, p):
        expect(p.sgl_id == n.SGL_CAPSULE, 'the data is not in the capsule')
        c.send(c.r2t(p.cid, 1, 0, p.sgl_len))
    answers_wrong(t, 'for a Write whose data was in its capsule: %s' % fes_name(seq), seq, None, in_capsule, at='on_write',
                  run=lambda target: t.env.writes_right(target, os.urandom(4096)))
    answers_wrong(t, 'for a CID that is not in use: %s' % fes_name(n.FES_FIELD, n.AT_CCCID), n.FES_FIELD, n.AT_CCCID,
                  lambda c, p: c.send(c.r2t(p.cid ^ 0x5000, 1, 0, p.sgl_len)))
    with t.case('every time, on every association: the client gives up'):
        def always(self, c, p):
            c.send(c.r2t(p.cid, 1, 0, p.sgl_len))
            ended(c, n.FES_SEQUENCE)
        target = t.env.target(t, kind(on_read=always))
        t.env.fails(t.env.read(target, query='depth=1&' + QUERY, within=40), 'read')
        expect(not target.faults, '%s', target.faults)


@book.row('I004', 'R2Ts too many, overlapping, beyond the data')
def i004(t):
    # MAXR2T of the client is 0, which means one at a time.
    def twice(c, p):
        expect(c.icreq.maxr2t == 0, 'MAXR2T is %d', c.icreq.maxr2t)
        r = c.r2t(p.cid, 1, 0, p.sgl_len)
        c.send(r + r)
    limit = n.FES_LIMIT
    answers_wrong(t, 'the same R2T twice in one segment: %s' % fes_name(limit), limit, None, twice, at='on_write')
    answers_wrong(t, 'two R2Ts for two halves in one segment: %s' % fes_name(limit), limit, None,
                  lambda c, p: c.send(c.r2t(p.cid, 1, 0, p.sgl_len // 2) + c.r2t(p.cid, 2, p.sgl_len // 2, p.sgl_len // 2)),
                  at='on_write')
    for name, r2to, more in (('beyond the end by 4 bytes', 0, 4), ('at the end', 262144, 0), ('far beyond', 1 << 31, 0),
                             ('of 4 GiB', 0, 0xF0000000)):
        answers_wrong(t, 'an R2T %s: %s' % (name, fes_name(n.FES_RANGE)), n.FES_RANGE, None,
                      lambda c, p, r2to=r2to, more=more: c.send(c.r2t(p.cid, 1, r2to, p.sgl_len + more & 0xFFFFFFFF)),
                      at='on_write')
    answers_wrong(t, 'an R2T for nothing: %s' % fes_name(n.FES_FIELD, n.AT_LENGTH), n.FES_FIELD, n.AT_LENGTH,
                  lambda c, p: c.send(c.r2t(p.cid, 1, 0, 0)), at='on_write')
    answers_wrong(t, 'an R2T that leaves something out: %s' % fes_name(n.FES_SEQUENCE), n.FES_SEQUENCE, None,
                  lambda c, p: c.send(c.r2t(p.cid, 1, 512, 512)), at='on_write')

    def again(self, c, p, write, data):
        if self.associations == 1:
            c.send(c.r2t(write.cid, 9, 0, write.sgl_len))
            ended(c, n.FES_SEQUENCE)
        targetpeer.Target.on_h2c(self, c, p, write, data)
    with t.case('the same data again, after it came: %s' % fes_name(n.FES_SEQUENCE)):
        target = t.env.target(t, kind(on_h2c=again, maxh2cdata=1 << 20))
        t.env.writes_right(target, os.urandom(131072))
        expect(terms(target)[0][0] == n.FES_SEQUENCE, 'the client sent %s', terms(target))
    for piece in (512, 4096, 65536):
        with t.case('R2Ts for %d bytes each, one after the other: the data comes in order' % piece):
            def step(self, c, p, write, data, piece=piece):
                expect(p.datao == len(data) and p.datal <= piece, '%s', p)
                data += p.data
                if p.flags & n.LAST:
                    del c.pending[p.ttag]
                    if len(data) < write.sgl_len:
                        c.pending[p.ttag + 1 & 0xFFFF] = (write, data)
                        return c.send(c.r2t(write.cid, p.ttag + 1 & 0xFFFF, len(data), piece))
                    self.store(write, data)
                    c.respond(write.cid)
            target = t.env.target(t, kind(on_h2c=step, on_write=lambda s, c, p, piece=piece: c.ask(p, 0, piece)))
            t.env.writes_right(target, os.urandom(131072))


@book.row('I002', 'reads that end with less than all of their data')
def i002(t):
    def short(self, c, p):
        if self.associations > 1 or self.shorts > 2:
            return targetpeer.Target.on_read(self, c, p)
        self.shorts += 1
        data = self.blocks(p)
        if self.how == 'SUCCESS':
            c.send(c.c2h(p.cid, 0, data[:512], success=True))
        elif self.how == 'nothing':
            c.respond(p.cid)
        else:
            c.send(c.c2h(p.cid, 0, data[:512], last=self.how == 'LAST'))
            c.respond(p.cid)
    for how in ('SUCCESS', 'LAST', 'no LAST', 'nothing'):
        with t.case('512 bytes of 65536, with %s: not taken for data; asked for again' % how):
            target = t.env.target(t, kind(on_read=short, how=how, shorts=0))
            t.env.reads_right(target)
            expect(target.shorts > 0, 'it was not provoked')
        with t.case('and always so: the read fails, and no byte of it is given out'):
            target = t.env.target(t, kind(on_read=short, how=how, shorts=-1 << 30))
            r = t.env.fails(t.env.read(target), 'Data Transfer Error')
            expect(r.out == b'', '%d bytes came out', len(r.out))
    answers_wrong(t, 'data at another offset than the next: %s' % fes_name(n.FES_SEQUENCE), n.FES_SEQUENCE, None,
                  lambda c, p: c.send(c.c2h(p.cid, 512, bytes(512), last=False)))
    answers_wrong(t, 'the same data twice: %s' % fes_name(n.FES_SEQUENCE), n.FES_SEQUENCE, None,
                  lambda c, p: c.send(c.c2h(p.cid, 0, bytes(512), last=False) * 2))
    for datao, length in ((0, 65536 + 4), (65536, 512), (0xFFFFFE00, 512), (512, 65536)):
        answers_wrong(t, '%d bytes at %d of 65536: %s' % (length, datao, fes_name(n.FES_RANGE)), n.FES_RANGE, None,
                      lambda c, p, datao=datao, length=length: c.send(c.c2h(p.cid, datao, bytes(length))))
    answers_wrong(t, 'data after LAST: %s' % fes_name(n.FES_SEQUENCE), n.FES_SEQUENCE, None,
                  lambda c, p: c.send(c.c2h(p.cid, 0, bytes(512), last=True) + c.c2h(p.cid, 512, bytes(512))))
    answers_wrong(t, 'data for a CID that is not in use: %s' % fes_name(n.FES_FIELD, n.AT_CCCID), n.FES_FIELD, n.AT_CCCID,
                  lambda c, p: c.send(c.c2h(p.cid ^ 0x5000, 0, bytes(512))))
    answers_wrong(t, 'data for a Write: %s' % fes_name(n.FES_SEQUENCE), n.FES_SEQUENCE, None,
                  lambda c, p: c.send(c.c2h(p.cid, 0, bytes(512))), at='on_write')
    answers_wrong(t, 'a completion for a CID that is not in use: %s' % fes_name(n.FES_FIELD, n.AT_RSP_CID), n.FES_FIELD,
                  n.AT_RSP_CID, lambda c, p: c.send(c.rsp(p.cid ^ 0x5000)))
    answers_wrong(t, 'two completions: %s' % fes_name(n.FES_FIELD, n.AT_RSP_CID), n.FES_FIELD, n.AT_RSP_CID,
                  lambda c, p: c.send(c.c2h(p.cid, 0, c.target.blocks(p)) + c.rsp(p.cid) + c.rsp(p.cid)),
                  run=lambda target: t.env.reads_right(target, 1 << 18, query=QUERY + '&depth=1'))
    with t.case('a Write that is complete although its data was never asked for: not taken for done'):
        def done(self, c, p):
            if p.sgl_id == n.SGL_CAPSULE or self.early > 2:
                return targetpeer.Target.on_write(self, c, p)
            self.early += 1
            c.respond(p.cid)
        target = t.env.target(t, kind(on_write=done, early=0))
        t.env.writes_right(target, os.urandom(262144))
        target = t.env.target(t, kind(on_write=done, early=-1 << 30))
        t.env.fails(t.env.write(target, os.urandom(262144)), 'Data Transfer Error')


@book.row('I005', 'headers of another length, with header digests')
def i005(t):
    for query in (QUERY + '&hdgst=1', QUERY):
        for hlen in (8, 23, 25, 128, 255):
            fes, fei = n.FES_FIELD, n.AT_HLEN
            for name, at, hook in (
                    ('C2HData', 'on_read', lambda c, p, hlen=hlen: c.send(c.c2h(p.cid, 0, bytes(p.sgl_len), hlen=hlen))),
                    ('CapsuleResp', 'on_read', lambda c, p, hlen=hlen: c.send(c.rsp(p.cid, hlen=hlen))),
                    ('R2T', 'on_write', lambda c, p, hlen=hlen: c.send(c.r2t(p.cid, 1, 0, p.sgl_len, hlen=hlen)))):
                answers_wrong(t, '%s with HLEN %d%s: %s' % (name, hlen, ', digests' if 'hdgst' in query else '',
                                                            fes_name(fes, fei)), fes, fei, hook, at=at, query=query)


@book.row('LENGTHS', 'lengths and flags that do not fit (any byte stream)')
def lengths(t):
    fes = n.FES_FIELD
    for plen in (0, 7, 8, 23, 24, 25, 24 + 65535, 24 + 65537, 1 << 31, 0xFFFFFFFF):
        answers_wrong(t, 'C2HData with PLEN %d for 65536 bytes: %s' % (plen, fes_name(fes, n.AT_PLEN)), fes, n.AT_PLEN,
                      lambda c, p, plen=plen: c.send(c.c2h(p.cid, 0, bytes(65536), plen=plen)))
    for name, at, hook in (('CapsuleResp', 'on_read', lambda c, p: c.send(c.rsp(p.cid, plen=28))),
                           ('R2T', 'on_write', lambda c, p: c.send(c.r2t(p.cid, 1, 0, p.sgl_len, plen=20)))):
        answers_wrong(t, '%s with another PLEN: %s' % (name, fes_name(fes, n.AT_PLEN)), fes, n.AT_PLEN, hook, at=at)
    for pdo in (0, 8, 23, 25, 255):
        answers_wrong(t, 'C2HData with PDO %d: %s' % (pdo, fes_name(fes, n.AT_PDO)), fes, n.AT_PDO,
                      lambda c, p, pdo=pdo: c.send(c.c2h(p.cid, 0, bytes(65536), pdo=pdo)))
    answers_wrong(t, 'C2HData of nothing: %s' % fes_name(fes, n.AT_LENGTH), fes, n.AT_LENGTH,
                  lambda c, p: c.send(struct.pack('<BBBBI', n.C2H_DATA, n.LAST, 24, 24, 24) +
                                      struct.pack('<HHII4x', p.cid, 0, 0, 0)))
    for name, flags in (('SUCCESS without LAST', n.SUCCESS), ('a digest flag that was not agreed on', n.HDGST),
                        ('the other one', n.DDGST)):
        answers_wrong(t, 'C2HData with %s: %s' % (name, fes_name(fes, n.AT_FLAGS)), fes, n.AT_FLAGS,
                      lambda c, p, flags=flags: c.send(c.c2h(p.cid, 0, bytes(65536), all_flags=flags)))
    for kind_ in (n.ICREQ, n.H2C_TERM, n.CMD, n.H2C_DATA, 8, 10, 0xAC, 0xFF):
        answers_wrong(t, 'type 0x%02x, which controllers do not send: %s' % (kind_, fes_name(fes, n.AT_TYPE)), fes, n.AT_TYPE,
                      lambda c, p, kind_=kind_: c.send(struct.pack('<BBBBI', kind_, 0, 24, 0, 24) + bytes(16)))
    answers_wrong(t, 'a second ICResp: %s' % fes_name(n.FES_SEQUENCE), n.FES_SEQUENCE, None, lambda c, p: c.send(n.icresp()))


@book.row('T035', 'a fatal PDU with commands in flight')
def t035(t):
    def hook(self, c, p):
        self.waiting += 1
        if self.associations > 1:
            return targetpeer.Target.on_read(self, c, p)
        if self.waiting == 10:
            c.send(struct.pack('<BBBBI', self.bad, 0, 24, 0, 24) + bytes(16))
            ended(c, n.FES_FIELD, n.AT_TYPE)
    for bad in (0x00, 0x04, 0xAC):
        with t.case('type 0x%02x after 10 reads: the connection ends, all ten are done on the next one' % bad):
            target = t.env.target(t, kind(on_read=hook, waiting=0, bad=bad, mdts=3))
            r = t.env.reads_right(target, 1 << 19, query=QUERY + '&depth=16')
            expect(terms(target) == [(n.FES_FIELD, n.AT_TYPE)], 'the client sent %s', terms(target))
            expect(r.seconds < 5, 'it took %.1f s', r.seconds)
    with t.case('a target that does not end the connection after the H2CTermReq: the client does'):
        def stays(self, c, p):
            c.send(struct.pack('<BBBBI', 0xAC, 0, 24, 0, 24) + bytes(16))
            try:
                c.expect_term(n.FES_FIELD, n.AT_TYPE)
            except Closed:
                _, after = c.wire.expect_closed()
            expect(after < 3, 'after %.1f s', after)
            raise Closed('as expected')
        stays.__name__ = 'on_read'
        t.env.reads_right(t.env.target(t, kind(on_read=once(stays))))
    with t.case('a C2HTermReq: the connection ends at once, the reads are done on the next one'):
        def told(self, c, p):
            c.send(n.term(n.C2H_TERM, n.FES_RANGE, 0, p.header))
            _, after = c.wire.expect_closed()
            expect(after < 1, 'the client left after %.1f s', after)
            raise Closed('as expected')
        told.__name__ = 'on_read'
        target = t.env.target(t, kind(on_read=once(told)))
        t.env.reads_right(target)


@book.row('I007', 'MAXH2CDATA')
def i007(t):
    for value in (0, 1, 4092, 4095, 4097, 0xFFFF, 0xFFFFFFFF):
        with t.case('%d: %s' % (value, fes_name(n.FES_FIELD, n.AT_MAXH2CDATA))):
            def hook(self, c, p, value=value):
                c.send(n.icresp(maxh2cdata=value))
                ended(c, n.FES_FIELD, n.AT_MAXH2CDATA)
            target = t.env.target(t, kind(on_icreq=hook))
            t.env.fails(t.env.info(target))
            expect(terms(target) == [(n.FES_FIELD, n.AT_MAXH2CDATA)] and not target.faults, '%s %s', terms(target),
                   target.faults)
    for value in (4096, 8192, 131072, 0xFFFFFFFC):
        with t.case('%d: no PDU is longer' % value):
            target = t.env.target(t, kind(maxh2cdata=value))
            t.env.writes_right(target, os.urandom(300 * 1024))


@book.row('I014', 'one read, answered in many pieces, with data digests')
def i014(t):
    def pieces(self, c, p):
        data, at = self.blocks(p), 0
        sizes = [8192, 4096, 8192, 4096]
        while at < len(data):
            some = sizes[at // 4096 % 4] if not self.odd else self.rng.choice((4, 508, 512, 1000, 4096))
            piece = data[at:at + some]
            at += len(piece)
            last = at == len(data)
            c.send(c.c2h(p.cid, at - len(piece), piece, last=last, success=last and not c.sqflow))
        if c.sqflow:
            c.respond(p.cid)
    for odd in (False, True):
        for query in ('ddgst=1', 'hdgst=1&ddgst=1', 'hdgst=1'):
            with t.case('pieces of %s, %s' % ('all sizes' if odd else '8192 and 4096', query)):
                target = t.env.target(t, kind(on_read=pieces, odd=odd, rng=random.Random(14)))
                t.env.reads_right(target, 1 << 19, query=query + '&' + QUERY)
    for name, bad in (('the first', 0), ('the last', 3)):
        with t.case('the digest of %s piece is wrong: not taken for data; asked for again' % name):
            def wrong(self, c, p, bad=bad):
                if self.wrongs:
                    self.wrongs -= 1
                    data = self.blocks(p)
                    step = len(data) // 4
                    for i in range(4):
                        c.send(c.c2h(p.cid, i * step, data[i * step:(i + 1) * step], last=i == 3,
                                     **({'ddgst': 1} if i == bad else {})))
                    return c.respond(p.cid)
                targetpeer.Target.on_read(self, c, p)
            target = t.env.target(t, kind(on_read=wrong, wrongs=2))
            t.env.reads_right(target, query='ddgst=1&' + QUERY)
            expect(target.wrongs == 0 and target.associations == 1, 'a data digest is no reason to leave')
    answers_wrong(t, 'the digest of a header is wrong: %s' % fes_name(n.FES_HDGST), n.FES_HDGST, None,
                  lambda c, p: c.send(c.c2h(p.cid, 0, bytes(p.sgl_len), hdgst=1)), query=QUERY + '&hdgst=1')
    with t.case('always a wrong data digest: the read fails, no byte of it is given out'):
        target = t.env.target(t, kind(on_read=lambda s, c, p: (c.send(c.c2h(p.cid, 0, s.blocks(p), ddgst=1)), c.respond(p.cid))))
        r = t.env.fails(t.env.read(target, query='ddgst=1&' + QUERY))
        expect(r.out == b'', '%d bytes came out', len(r.out))


@book.row('I018', 'padding that the target asks for')
def i018(t):
    for cpda in (0, 1, 7, 30, 31):
        for query in (QUERY, QUERY + '&hdgst=1&ddgst=1'):
            with t.case('CPDA %d%s: data starts at such a multiple' % (cpda, ', digests' if 'hdgst' in query else '')):
                # Connection.run() looks at PDO.
                target = t.env.target(t, kind(cpda=cpda))
                t.env.writes_right(target, os.urandom(200 * 1024), query=query)
    for cpda in (32, 255):
        with t.case('CPDA %d: %s' % (cpda, fes_name(n.FES_FIELD, n.AT_PDA))):
            def hook(self, c, p, cpda=cpda):
                c.send(n.icresp(cpda=cpda))
                ended(c, n.FES_FIELD, n.AT_PDA)
            target = t.env.target(t, kind(on_icreq=hook))
            t.env.fails(t.env.info(target))
            expect(not target.faults, '%s', target.faults)


class Paced(targetpeer.Target):
    """Sends everything in pieces. lengths: bytes -> lengths."""

    def on_icreq(self, c, p):
        c.wire.pace = self.lengths
        super().on_icreq(c, p)


@book.row('T027', 'answers cut anywhere')
def t027(t):
    rng = random.Random(27)
    paces = [('4 bytes, then the rest', lambda s, data: [4, len(data)])]
    paces += [('cut after %d bytes' % cut, lambda s, data, cut=cut: [cut, len(data)]) for cut in (1, 7, 8, 9, 23, 24, 27, 28, 127)]
    paces += [('cut at random places', lambda s, data: [rng.randint(1, 400) for _ in range(len(data))]),
              ('one byte a segment', lambda s, data: [1] * min(600, len(data)) + [len(data)])]
    for name, lengths_ in paces:
        with t.case(name):
            target = t.keep(type('Cut', (Paced,), {'lengths': lengths_})())
            t.env.reads_right(target, 16384, query=QUERY + '&hdgst=1&ddgst=1')
    with t.case('ten reads answered in one segment'):
        def gather(self, c, p):
            self.held.append(c.c2h(p.cid, 0, self.blocks(p), success=True))
            if len(self.held) == 10:
                c.send(b''.join(self.held))
                self.held.clear()
        target = t.env.target(t, kind(on_read=gather, held=[], mdts=3))
        t.env.reads_right(target, 10 * 32768, query=QUERY + '&depth=10')


@book.row('ANY', 'any bytes, at any time')
def any_bytes(t):
    rng = random.Random(0xA12)

    def junk():
        b = rng.randbytes(rng.choice((1, 7, 8, 24, 100, 5000, 70000)))
        if rng.random() < 0.6:
            k = rng.choice(list(n.HLEN))
            b = struct.pack('<BBBBI', k, rng.choice((0, 4)), n.HLEN[k], n.HLEN[k],
                            rng.choice((n.HLEN[k], len(b) + 8, 0xFFFFFFFF))) + b
        return b

    def leave(c):
        try:
            c.send(junk())
            time.sleep(rng.choice((0, 0.01)))
        finally:
            if rng.random() < 0.5:
                c.wire.reset()
        raise Closed('on purpose')

    for stage, hook in (('in the place of the ICResp', 'on_icreq'), ('in the place of the answer to Connect', 'on_connect'),
                        ('in the place of a property', 'on_fabrics'), ('in the place of Identify', 'on_admin')):
        with t.case('junk %s, 8 times' % stage):
            for _ in range(8):
                target = t.env.target(t, kind(**{hook: lambda s, c, *a: leave(c)}))
                t.env.fails(t.env.info(target))
                target.close()
    with t.case('junk in the place of data, 10 associations, then right'):
        def wrong(self, c, p):
            if self.associations <= 10:
                leave(c)
            targetpeer.Target.on_read(self, c, p)
        t.env.reads_right(t.env.target(t, kind(on_read=wrong)), query='io_timeout=1s&connect_timeout=2s&loss_timeout=20s')
    with t.case('half a C2HData, then silence: given up after io_timeout, done on the next association'):
        def half(self, c, p):
            c.send(c.c2h(p.cid, 0, self.blocks(p))[:1000])
        half.__name__ = 'on_read'
        t.env.reads_right(t.env.target(t, kind(on_read=once(half))))
    with t.case('no answer to a read at all: the same'):
        def silent(self, c, p):
            pass
        silent.__name__ = 'on_read'
        t.env.reads_right(t.env.target(t, kind(on_read=once(silent))))
    with t.case('a target that takes nothing: the same, for a write'):
        def deaf(self, c, p):
            c.ask(p)
            time.sleep(3)
            raise Closed('on purpose')
        deaf.__name__ = 'on_write'
        t.env.writes_right(t.env.target(t, kind(on_write=once(deaf), maxh2cdata=1 << 20, mdts=10)), os.urandom(1 << 20))


@book.row('X003', 'the target is gone, with bytes unread')
def x003(t):
    for name, data in (('100 bytes of junk', b'\xac' * 100), ('half a completion', b'\x05\0\x18\0\x18\0\0\0' + bytes(4))):
        for end in ('close', 'reset', 'half_close'):
            with t.case('%s, then %s: noticed at once' % (name, end)):
                def hook(self, c, p, data=data, end=end):
                    c.send(data)
                    getattr(c.wire, end)()
                    raise Closed('on purpose')
                hook.__name__ = 'on_read'
                r = t.env.reads_right(t.env.target(t, kind(on_read=once(hook))))
                expect(r.seconds < 1.5, 'it took %.1f s', r.seconds)
