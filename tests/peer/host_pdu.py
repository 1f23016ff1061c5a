# SPDX-License-Identifier: Apache-2.0
"""Rows about PDUs: headers that lie, PDUs out of turn, streams cut anywhere, padding and digests.

Where the standard leaves a choice of Fatal Error Status, the one expected here is named in a comment. Linux and
SPDK both close the connection in all of these cases; Linux (6.x, drivers/nvme/target/tcp.c) mostly without a
C2HTermReq."""
import os
import random
import struct
import time

import hostpeer
import nvmetcp as n
import rows
import wire
from host_env import IN_CAPSULE, NS
from wire import expect

book = rows.Book()


def solicited(env, t, length=8192, who=None, **how):
    """A host whose write waits for its data: (host, queue, R2T)."""
    h = t.keep(hostpeer.Host(who or env.who(), name='bad', **how))
    q = h.io[0]
    cid = q.submit(q.write_sqe(0, bytes(length)))
    return h, q, q.expect_r2t(cid)


def refused(t, q, fes, fei, *data):
    """That C2HTermReq and the end; the offending header comes back in it."""
    for d in data:
        q.wire.send(d)
    p = q.expect_term(fes, fei)
    sent = data[-1]
    expect(p.data and sent.startswith(p.data) or not sent.startswith(p.data[:1]),
           'the header in the C2HTermReq is %s, not what was sent', p.data.hex())
    return p


@book.row('T001', 'H2CData whose lengths do not fit each other or the R2T')
def t001(t):
    env, data = t.env, os.urandom(8192)
    for plen in (0, 8, 23, 24, 25, 8215, 8217, 1 << 31, 0xFFFFFFFF):
        with t.case('PLEN %d for 8192 bytes: Invalid PDU Header Field at PLEN' % plen):
            _, q, r = solicited(env, t)
            refused(t, q, n.FES_FIELD, n.AT_PLEN, q.h2c(r, 0, data, plen=plen))
    for hlen in (0, 8, 23, 25, 72, 128, 255):
        with t.case('HLEN %d: Invalid PDU Header Field at HLEN' % hlen):
            _, q, r = solicited(env, t)
            refused(t, q, n.FES_FIELD, n.AT_HLEN, q.h2c(r, 0, data, hlen=hlen))
    for pdo in (0, 8, 23, 25, 26, 255):
        with t.case('PDO %d: Invalid PDU Header Field at PDO' % pdo):
            _, q, r = solicited(env, t)
            refused(t, q, n.FES_FIELD, n.AT_PDO, q.h2c(r, 0, data, pdo=pdo))
    for datal, plen in ((0xFFFFFFFF, 24 + 8192), (0xFFFFFFFF, 23), (8191, 24 + 8192), (8196, 24 + 8192)):
        with t.case('DATAL %d, PLEN %d: Invalid PDU Header Field at PLEN' % (datal, plen)):
            _, q, r = solicited(env, t)
            refused(t, q, n.FES_FIELD, n.AT_PLEN, q.h2c(r, 0, data, datal=datal, plen=plen))
    with t.case('no data at all: Invalid PDU Header Field at DATAL'):
        _, q, r = solicited(env, t)
        head = struct.pack('<BBBBI', n.H2C_DATA, n.LAST, 24, 24, 24) + struct.pack('<HHII4x', r.cccid, r.ttag, 0, 0)
        refused(t, q, n.FES_FIELD, n.AT_LENGTH, head)
    for at, length in ((0, 8196), (0, 16384), (4096, 8192), (8192, 4096), (4096, 4096), (0xFFFFF000, 4096)):
        with t.case('%d bytes at %d of an R2T for 8192: Data Transfer Out of Range' % (length, at)):
            _, q, r = solicited(env, t)
            refused(t, q, n.FES_RANGE, None, q.h2c(r, at, os.urandom(length)))
    with t.case('the second half twice: Data Transfer Out of Range'):
        _, q, r = solicited(env, t)
        q.wire.send(q.h2c(r, 0, data[:4096], last=False))
        refused(t, q, n.FES_RANGE, None, q.h2c(r, 0, data[:4096]))
    with t.case('more than MAXH2CDATA in one PDU: Limit Exceeded'):
        _, q, r = solicited(env, t, 131072)
        expect(q.maxh2cdata == 65536, 'MAXH2CDATA is %d', q.maxh2cdata)
        refused(t, q, n.FES_LIMIT, None, q.h2c(r, 0, bytes(131072)))
    with t.case('LAST although more must come: Invalid PDU Header Field at FLAGS'):
        _, q, r = solicited(env, t)
        refused(t, q, n.FES_FIELD, n.AT_FLAGS, q.h2c(r, 0, data[:4096]))
    env.reason(t, lambda who: refused(t, (x := solicited(env, t, who=who))[1], n.FES_FIELD, n.AT_PLEN,
                                      x[1].h2c(x[2], 0, data, plen=25)), 'pdu_field', 'plen')


@book.row('T002', 'H2CData that nobody asked for')
def t002(t):
    env = t.env
    # A tag that is none could as well be a PDU Sequence Error; here it is the field that is wrong.
    none = (n.FES_FIELD, n.AT_TTAG)
    stray = n.h2c_data(1, 0, 0, bytes(512))
    with t.case('before the ICReq: PDU Sequence Error'):
        refused(t, env.queue(t, ic=False), n.FES_SEQUENCE, None, stray)
    with t.case('before any command'):
        refused(t, env.queue(t), *none, stray)
    with t.case('as the first thing on a connected queue'):
        refused(t, env.host(t).io[0], *none, stray)
    for ttag in (0xFFFF, None):
        with t.case('with %s TTAG while a write waits' % ('a wild' if ttag else 'the next')):
            _, q, r = solicited(env, t)
            refused(t, q, *none, q.h2c(r, 0, bytes(8192), ttag=(r.ttag + 1) & 0xFFFF if ttag is None else ttag))
    with t.case('with a TTAG that differs from the right one in one bit, also one of long ago'):
        for bit in range(16):
            h, q, r = solicited(env, t)
            refused(t, q, *none, q.h2c(r, 0, bytes(8192), ttag=r.ttag ^ 1 << bit))
            h.close()
    with t.case('with the right TTAG and the CID of another command'):
        _, q, r = solicited(env, t)
        refused(t, q, n.FES_FIELD, n.AT_CCCID, q.h2c(r, 0, bytes(8192), cccid=r.cccid + 1))
    for name, sqe in (('a Read', lambda q: q.read_sqe(0, 8192)), ('a Flush', lambda q: n.sqe(n.FLUSH, 99, NS)),
                      ('a Write Zeroes', lambda q: n.sqe(n.WRITE_ZEROES, 99, NS, cdw10=n.rw_cdw(0, 8)))):
        with t.case('for %s, in the same segment' % name):
            q = env.host(t).io[0]
            s = sqe(q)
            cid = struct.unpack_from('<H', s, 2)[0]
            refused(t, q, *none, q.capsule(s) + n.h2c_data(cid, cid, 0, bytes(8192)))
    for name in ('after the completion', 'twice'):
        with t.case(name):
            _, q, r = solicited(env, t)
            again = q.h2c(r, 0, bytes(8192))
            q.wire.send(again if name != 'twice' else again + again)
            if name != 'twice':
                q.wire.expect_pdu(n.RSP, cid=r.cccid)
                q.wire.send(again)
            q.expect_term(*none)
    with t.case('for a write whose data was in its capsule'):
        q = env.host(t).io[0]
        s = q.write_sqe(0, bytes(512), capsule=True)
        refused(t, q, *none, q.capsule(s, bytes(512)) + n.h2c_data(q.cid, q.cid, 0, bytes(512)))
    env.reason(t, lambda who: refused(t, env.queue(t, who=who), *none, stray), 'pdu_field', 'h2c_ttag')


@book.row('T004', 'an ICReq that is refused, with more behind it')
def t004(t):
    env = t.env
    for name, fei, bad in (('PFV 1', n.AT_PFV, n.icreq(pfv=1, dgst=3)), ('HLEN 127', n.AT_HLEN, n.icreq(dgst=3, hlen=127)),
                           ('PLEN 132', n.AT_PLEN, n.icreq(dgst=3, plen=132)),
                           ('PLEN 127', n.AT_PLEN, n.icreq(dgst=3, plen=127)),
                           ('PLEN 2^32-1', n.AT_PLEN, n.icreq(dgst=3, plen=0xFFFFFFFF)),
                           ('a digest of no known kind', n.AT_DGST, n.icreq(dgst=7))):
        with t.case('%s and 4 KiB of junk: Invalid PDU Header Field, nothing more is looked at' % name):
            q = env.queue(t, ic=False)
            q.wire.send(bad + os.urandom(4096))
            q.expect_term(n.FES_FIELD, fei)
    with t.case('and 300 times without waiting, half of them with a reset'):
        before = env.quiet()
        for i in range(300):
            w = wire.dial(env.who().addr)
            w.send(n.icreq(pfv=1, dgst=3) + os.urandom(4096))
            (w.reset if i % 2 else w.close)()
        env.target.settle(before)
    env.reason(t, lambda who: refused(t, env.queue(t, who=who, ic=False), n.FES_FIELD, n.AT_PFV, n.icreq(pfv=1)),
               'pdu_field', 'ic_pfv')


@book.row('T020', 'HPDA that is out of range')
def t020(t):
    for hpda in (32, 255):
        with t.case('HPDA %d: Invalid PDU Header Field at HPDA' % hpda):
            refused(t, t.env.queue(t, ic=False), n.FES_FIELD, n.AT_PDA, n.icreq(hpda=hpda))
    with t.case('HPDA 31 is fine'):
        t.env.queue(t, hpda=31)


@book.row('T022', 'data in the capsules of Fabrics and admin commands: 8192 bytes, whatever IOCCSZ says')
def t022(t):
    env = t.env
    with t.case('64 admin queues that connect at once'):
        queues = [env.queue(t) for _ in range(64)]
        for q in queues:
            q.wire.send(q.connect_bytes())
        for q in queues:
            expect(q.wait(q.cid).status == n.OK, 'Connect')
        for q in queues:
            q.close()
    with t.case('8192 bytes in an admin capsule'):
        a = env.host(t).admin
        s = n.sqe(n.KEEP_ALIVE, a.next_cid(), 0, n.sgl(n.SGL_CAPSULE, 8192))
        expect(a.command(s, capsule=bytes(8192)).status == n.OK, 'Keep Alive')
        expect(a.identify(1).status == n.OK, 'Identify after it')
    with t.case('4 bytes more: Limit Exceeded'):
        a = env.host(t).admin
        refused(t, a, n.FES_LIMIT, None,
                a.capsule(n.sqe(n.KEEP_ALIVE, a.next_cid(), 0, n.sgl(n.SGL_CAPSULE, 8196)), bytes(8196)))
    with t.case('8192 bytes in an I/O capsule, where IOCCSZ says %d: SGL Offset Invalid, and the stream goes on' %
                IN_CAPSULE):
        q = env.host(t).io[0]
        answer = q.write(0, bytes(8192), capsule=True)
        expect(answer.status == n.SGL_OFFSET and answer.dnr, n.status_text(answer.status))
        expect(q.write(0, bytes(IN_CAPSULE), capsule=True).status == n.OK, 'a write that fits')


@book.row('T023', 'a PDU of a type that does not exist, or not here')
def t023(t):
    env = t.env
    for kind in (0x08, 0x0A, 0xAC, 0xFF):
        with t.case('type 0x%02x: Invalid PDU Header Field at TYPE' % kind):
            refused(t, env.queue(t), n.FES_FIELD, n.AT_TYPE, struct.pack('<BBBBI', kind, 0, 24, 0, 24) + bytes(16))
    for kind in (n.C2H_TERM, n.RSP, n.C2H_DATA, n.R2T):
        with t.case('%s, which only controllers send: Invalid PDU Header Field at TYPE' % n.NAMES[kind]):
            refused(t, env.queue(t), n.FES_FIELD, n.AT_TYPE, struct.pack('<BBBBI', kind, 0, 24, 0, 24) + bytes(16))
    with t.case('a second ICReq: PDU Sequence Error'):
        refused(t, env.queue(t), n.FES_SEQUENCE, None, n.icreq())
    with t.case('a second ICReq on a live queue: PDU Sequence Error'):
        refused(t, env.host(t).io[0], n.FES_SEQUENCE, None, n.icreq())
    for kind in (n.CMD, n.ICRESP, n.H2C_TERM, 0xAC):
        with t.case('type 0x%02x in the place of the ICReq: PDU Sequence Error' % kind):
            refused(t, env.queue(t, ic=False), n.FES_SEQUENCE, None,
                    struct.pack('<BBBBI', kind, 0, n.HLEN.get(kind, 24), 0, 72) + bytes(64))
    with t.case('junk in the middle of a session'):
        h = env.host(t)
        expect(h.io[0].write(0, bytes(4096)).status == n.OK, 'a write before')
        refused(t, h.io[0], n.FES_FIELD, n.AT_TYPE, b'\xac\0' + os.urandom(64))
    env.reason(t, lambda who: refused(t, env.queue(t, who=who), n.FES_FIELD, n.AT_TYPE, b'\xac\0' + bytes(22)),
               'pdu_field', 'pdu_type_reserved')


def overrun(q, count, nsid):
    """More writes in flight than the queue has entries, none with its data."""
    q.wire.send(b''.join(q.capsule(q.write_sqe(8 * i, bytes(4096), nsid)) for i in range(count)))


@book.row('T025', 'a host that must be left: the target does not wait for it')
def t025(t):
    env = t.env
    for fes, header in ((n.FES_FIELD, bytes(24)), (n.FES_HDGST, b''), (0xFFFF, bytes(128))):
        with t.case('H2CTermReq with FES %d and %d bytes: closed at once' % (fes, len(header))):
            h = env.host(t)
            h.io[0].wire.send(n.term(n.H2C_TERM, fes, 0, header))
            _, after = h.io[0].wire.expect_closed()
            expect(after < 1.0, 'it took %.2f s', after)
    for name, bad in (('HLEN 25', n.term(n.H2C_TERM, 1, hlen=25)), ('PLEN 153', n.term(n.H2C_TERM, 1, plen=153)),
                      ('PLEN 8', n.term(n.H2C_TERM, 1, plen=8))):
        with t.case('H2CTermReq with %s: closed without an answer' % name):
            w = env.queue(t).wire
            w.send(bad)
            try:
                raise wire.Failed('closed expected, got %s' % w.pdu())
            except wire.Closed:
                pass
    for sqsize in (1, 3, 31):
        with t.case('more commands than the %d entries of the queue: PDU Sequence Error, closed' % (sqsize + 1)):
            q = env.host(t, io_sqsize=sqsize).io[0]
            overrun(q, 2 * sqsize + 4, NS)
            q.expect_term(n.FES_SEQUENCE)
    with t.case('as many as a host may have, SQSIZE of them, are served'):
        q = env.host(t, io_sqsize=3).io[0]
        for _ in range(20):
            cids = [q.submit(q.write_sqe(8 * i, bytes(4096)), write=bytes(4096)) for i in range(3)]
            for cid in cids:
                expect(q.wait(cid).status == n.OK, 'a write')
    env.reason(t, lambda who: (q := t.keep(hostpeer.Host(who)).io[0]).wire.send(n.term(n.H2C_TERM, 1)), 'host_term')
    env.reason(t, lambda who: overrun(t.keep(hostpeer.Host(who, io_sqsize=1)).io[0], 8, 1), 'queue_overrun')


def session(who, t, dgst, hpda, pace, seed):
    """A whole association, each PDU sent in pieces."""
    rng = random.Random(seed)
    q = t.keep(hostpeer.Queue(who, 0, 'admin'))
    q.wire.pace = pace
    q.initialise(hpda=hpda, dgst=dgst)
    expect(q.connect().status == n.OK, 'Connect')
    q.enable()
    io = t.keep(hostpeer.Queue(who, 1, 'io'))
    io.wire.pace = pace
    io.initialise(hpda=hpda, dgst=dgst)
    expect(io.connect(cntlid=q.cntlid).status == n.OK, 'Connect of the I/O queue')
    for length, capsule in ((512, True), (512, False), (2048, False)):
        data, slba = os.urandom(length), rng.randrange(1000)
        expect(io.write(slba, data, capsule=capsule).status == n.OK, 'a write of %d', length)
        expect(io.read(slba, length).data == data, 'read back differently')


@book.row('T027', 'streams cut anywhere')
def t027(t):
    env, rng = t.env, random.Random(27)
    paces = [('4 bytes of each header, then the rest', lambda data: [4, len(data)])]
    paces += [('cut after %d bytes' % cut, lambda data, cut=cut: [cut, len(data)])
              for cut in (1, 7, 8, 9, 23, 24, 27, 28, 71, 72, 76)]
    paces += [('cut at random places', lambda data: [rng.randint(1, 60) for _ in range(len(data))])] * 3
    for name, pace in paces:
        with t.case(name):
            session(env.who(), t, 3, 3, pace, 2)
    # It takes longer than the short limits of the common target allow.
    with env.fresh(t, limits={'connect': '60s', 'transfer': '60s', 'first_command': '60s'}) as slow:
        for dgst, hpda in ((0, 0), (3, 31)):
            with t.case('one byte a segment, dgst %d, hpda %d' % (dgst, hpda)):
                session(slow.who(), t, dgst, hpda, lambda data: [1] * len(data), 1)
    with t.case('everything in one segment: ICReq, Connect, and commands behind them'):
        q = env.queue(t, ic=False)
        first = n.icreq() + q.connect_bytes()
        cid = q.next_cid()
        prop = q.capsule(n.fabrics(n.PROPERTY_GET, cid, cdw10=struct.pack('<B3xI', 0, n.VS)))
        q.wire.send(first + prop)
        q.initialised()
        expect(q.wait(1).status == n.OK, 'Connect')
        expect(q.wait(cid).result == 0x20000, 'VS')
    with t.case('64 commands in one segment'):
        q = env.host(t, io_sqsize=127).io[0]
        data = {q.next_cid(): os.urandom(512) for _ in range(64)}
        q.wire.send(b''.join(q.capsule(q.write_sqe(i, d, cid=cid, capsule=True), d)
                             for i, (cid, d) in enumerate(data.items())))
        for cid in data:
            expect(q.wait(cid).status == n.OK, 'a write')
        expect(q.read(0, 64 * 512).data == b''.join(data.values()), 'read back differently')


@book.row('T030', 'hosts of other habits: lengths in the capsule, commands on the wrong queue')
def t030(t):
    env = t.env
    for length in (512, 4096):
        with t.case('%d bytes in the capsule' % length):
            q, data = env.host(t).io[0], os.urandom(length)
            expect(q.write(3, data, capsule=True).status == n.OK and q.read(3, length).data == data, 'differs')
    for name, sgl_length, capsule, nlb in (('an SGL longer than the data in the capsule', 4096, 2048, 8),
                                           ('no data although the SGL says so', 4096, 0, 8),
                                           ('an SGL that starts behind the data', 512, 512, 1)):
        with t.case('%s: SGL Offset Invalid' % name):
            q = env.host(t).io[0]
            where = n.sgl(n.SGL_CAPSULE, sgl_length, 512 if 'behind' in name else 0)
            answer = q.command(n.sqe(n.WRITE, q.next_cid(), NS, where, n.rw_cdw(0, nlb)), capsule=bytes(capsule))
            expect(answer.status == n.SGL_OFFSET, n.status_text(answer.status))
            expect(q.write(0, bytes(512), capsule=True).status == n.OK, 'the next write')
    with t.case('the data in the middle of the capsule'):
        q, data = env.host(t).io[0], os.urandom(2048)
        answer = q.command(n.sqe(n.WRITE, q.next_cid(), NS, n.sgl(n.SGL_CAPSULE, 1024, 512), n.rw_cdw(7, 2)), capsule=data)
        expect(answer.status == n.OK and q.read(7, 1024).data == data[512:1536], n.status_text(answer.status))
    with t.case('a capsule with data although the SGL says that it comes by R2T'):
        q, data = env.host(t).io[0], os.urandom(512)
        cid = q.submit(q.write_sqe(9, data), capsule=bytes(512), write=data)
        expect(q.wait(cid).status == n.OK and q.read(9, 512).data == data, 'differs')
    with t.case('data in the capsule of a Read: Invalid Field or ignored, and the stream goes on'):
        q = env.host(t).io[0]
        answer = q.command(n.sqe(n.READ, q.next_cid(), NS, n.sgl(n.SGL_CAPSULE, 512), n.rw_cdw(0, 1)), capsule=bytes(512))
        expect(answer.status in (n.INVALID_FIELD, n.SGL_TYPE), n.status_text(answer.status))
        expect(q.read(0, 512).status == n.OK, 'a read after it')
    for kind, name in ((0x00, 'a keyed or plain data block'), (0x30, 'a last segment'), (0x0F, 'offset of subtype 15')):
        with t.case('SGL type 0x%02x (%s): SGL Descriptor Type Invalid' % (kind, name)):
            q = env.host(t).io[0]
            answer = q.command(n.sqe(n.READ, q.next_cid(), NS, n.sgl(kind, 512), n.rw_cdw(0, 1)))
            expect(answer.status == n.SGL_TYPE and answer.dnr, n.status_text(answer.status))
    with t.case('PRPs instead of SGLs: Invalid Field in Command'):
        q = env.host(t).io[0]
        answer = q.command(n.sqe(n.READ, q.next_cid(), NS, n.sgl(n.SGL_TRANSPORT, 512), n.rw_cdw(0, 1), flags=0))
        expect(answer.status == n.INVALID_FIELD and answer.dnr, n.status_text(answer.status))


@book.row('I007', 'MAXH2CDATA is a count of bytes')
def i007(t):
    with t.case('a multiple of 4, and 4096 at least'):
        q = t.env.queue(t)
        expect(q.maxh2cdata % 4 == 0 and q.maxh2cdata >= 4096, 'MAXH2CDATA is %d', q.maxh2cdata)
    with t.case('exactly so many bytes in one PDU are taken'):
        q, data = t.env.host(t).io[0], os.urandom(65536)
        expect(q.write(0, data).status == n.OK and q.read(0, 65536).data == data, 'differs')


@book.row('I017', 'SUCCESS in C2HData only for a host that did without SQ flow control')
def i017(t):
    for cattr, flag in ((0, False), (4, True)):
        with t.case('CATTR %d: %s' % (cattr, 'with SUCCESS, or a completion' if flag else 'a completion, never the flag')):
            h = t.env.host(t, cattr=cattr)
            for length in (512, 4096, 262144):
                answer = h.io[0].read(0, length)
                expect(answer.status == n.OK and (flag or not answer.by_flag), 'SUCCESS was used')
            # Admin commands as well.
            expect(h.admin.identify(1).status == n.OK, 'Identify')
    with t.case('never for a read that fails'):
        q = t.env.host(t, cattr=4).io[0]
        answer = q.read(2048, 4096, nsid=5)
        expect(answer.status == n.READ_ERROR and not answer.by_flag, n.status_text(answer.status))


@book.row('I018', 'padding: data starts at a multiple of what the host asked for')
def i018(t):
    env = t.env
    data = os.urandom(8192)
    for dgst in (0, 1, 2, 3):
        with t.case('HPDA 0 to 31, digests %d' % dgst):
            for hpda in range(32):
                h = env.host(t, hpda=hpda, dgst=dgst)
                q = h.io[0]
                expect(q.tx == dgst, 'digests %d were agreed on', q.tx)
                if hpda == 0:
                    expect(q.write(0, data).status == n.OK, 'a write')
                # Queue.take() looks at PDO.
                expect(q.read(0, 8192).data == data, 'read back differently with HPDA %d', hpda)
                h.close()


@book.row('DIGEST', 'digests that are wrong (any byte stream)')
def digest(t):
    env = t.env
    with t.case('header digest of a command: Header Digest Error, closed'):
        q = env.host(t, dgst=3).io[0]
        q.wire.send(q.capsule(q.read_sqe(0, 512), hdgst=1))
        q.expect_term(n.FES_HDGST)
    with t.case('header digest of H2CData: Header Digest Error, closed'):
        _, q, r = solicited(env, t, dgst=1)
        q.wire.send(q.h2c(r, 0, bytes(8192), hdgst=1 << 31))
        q.expect_term(n.FES_HDGST)
    for capsule in (True, False):
        with t.case('data digest of a write %s: Transient Transport Error, nothing is written, the stream goes on' %
                    ('in its capsule' if capsule else 'by H2CData')):
            q = env.host(t, dgst=3).io[0]
            old, new = os.urandom(512), os.urandom(512)
            expect(q.write(5, old).status == n.OK, 'a write')
            if capsule:
                q.wire.send(q.capsule(q.write_sqe(5, new, capsule=True), new, ddgst=1))
            else:
                r = q.expect_r2t(q.submit(q.write_sqe(5, new)))
                q.wire.send(q.h2c(r, 0, new, ddgst=1))
            answer = q.wait(q.cid)
            # Retrying helps, so not with Do Not Retry (3.5).
            expect(answer.status == n.TRANSIENT_TRANSPORT and not answer.dnr, n.status_text(answer.status, answer.dnr))
            expect(q.read(5, 512).data == old, 'it was written')
            expect(q.write(5, new).status == n.OK and q.read(5, 512).data == new, 'the same write again')
    for flags in (0, n.HDGST, n.DDGST):
        with t.case('digest flags that are not as agreed: 0x%02x of 0x03' % flags):
            q = env.host(t, dgst=3).io[0]
            q.wire.send(q.capsule(q.write_sqe(0, bytes(512), capsule=True), bytes(512), all_flags=flags))
            # The flags decide where the digest is; what cannot be told from a bad digest may be called one.
            p = q.wire.expect_pdu(n.C2H_TERM)
            expect((p.fes, p.fei) == (n.FES_FIELD, n.AT_FLAGS) or p.fes == n.FES_HDGST, '%s', p)
            q.wire.expect_closed()
    for flags in (n.HDGST, n.DDGST):
        with t.case('digest flag 0x%02x although none was agreed on: Invalid PDU Header Field at FLAGS' % flags):
            q = env.host(t).io[0]
            refused(t, q, n.FES_FIELD, n.AT_FLAGS, q.capsule(q.write_sqe(0, bytes(512), capsule=True), bytes(512), all_flags=flags))
    env.reason(t, lambda who: ((q := t.keep(hostpeer.Host(who, dgst=3)).io[0]).wire.send(
        q.capsule(q.read_sqe(0, 512), hdgst=1)), q.expect_term(n.FES_HDGST)), 'pdu_hdgst', 'header_digest')


def silent_hosts(env, t):
    """(what they did last, wire, not before, not after) of hosts that are silent from now on, in each stage."""
    def raw(data):
        w = wire.dial(env.who().addr)
        w.send(data)
        return w

    def connected(*stages):
        q = env.queue(t)
        if 'Connect' in stages:
            expect(q.connect().status == n.OK, 'Connect')
        return q.wire

    host = env.host(t, queues=2)
    half, owing = host.io
    half.wire.send(half.capsule(half.read_sqe(0, 512))[:40])
    r = owing.expect_r2t(owing.submit(owing.write_sqe(0, bytes(8192))))
    owing.wire.send(owing.h2c(r, 0, bytes(4096), last=False) + owing.h2c(r, 4096, bytes(4096))[:100])
    # Other limits: 700 ms, and 1500 ms for what has begun.
    return host, [('no byte', raw(b''), 0.4, 3.0), ('half an ICReq', raw(n.icreq()[:64]), 0.4, 3.0),
            ('4 bytes', raw(b'\0\0\x80\0'), 0.4, 3.0), ('ICReq', connected(), 0.4, 3.0),
            ('Connect', connected('Connect'), 0.4, 3.0), ('half a command', half.wire, 1.0, 4.0),
            ('half the data that was asked for', owing.wire, 1.0, 4.0)]


@book.row('ANY', 'any bytes, at any time')
def any_bytes(t):
    env, rng = t.env, random.Random(0xA11)
    for stage in ('nothing', 'ICReq', 'Connect', 'a live queue', 'a write that waits for its data'):
        with t.case('junk after %s, 40 times' % stage):
            before = env.quiet()
            for i in range(40):
                if stage == 'nothing':
                    w = wire.dial(env.who().addr)
                elif stage == 'ICReq':
                    w = env.queue(t).wire
                elif stage == 'Connect':
                    q = env.queue(t)
                    q.connect()
                    w = q.wire
                elif i == 0:
                    h, q, _ = solicited(env, t)
                    w = q.wire
                else:
                    q = hostpeer.Queue(env.who(), 2 + i)
                    q.initialise()
                    q.connect(cntlid=h.admin.cntlid)
                    if 'write' in stage:
                        q.expect_r2t(q.submit(q.write_sqe(0, bytes(8192))))
                    w = q.wire
                junk = rng.randbytes(rng.choice((1, 7, 8, 24, 100, 5000, 70000)))
                if rng.random() < 0.6:
                    # A right type in front gets it deeper.
                    kind = rng.choice(list(n.HLEN))
                    junk = struct.pack('<BBBBI', kind, rng.choice((0, 4)), n.HLEN[kind], n.HLEN[kind],
                                       rng.choice((n.HLEN[kind], len(junk) + 8, 0xFFFFFFFF))) + junk
                try:
                    w.send(junk, within=5)
                except wire.Closed:
                    pass
                (w.reset if rng.random() < 0.3 else w.close)()
            if stage.startswith('a '):
                h.close()
            env.target.settle(before)
    began = time.monotonic()
    host, kinds = silent_hosts(env, t)
    after = wire.endings([w for _, w, _, _ in kinds], 8, began)
    for name, w, least, most in kinds:
        with t.case('%s, then silence: closed within its limit' % name):
            t.keep(w)
            expect(after[w] is not None and least < after[w] < most, 'after %s s', after[w])
    host.close()
    with t.case('a PDU that trickles in, a byte every 100 ms: closed within its limit'):
        q = env.host(t).io[0]
        data, began = q.capsule(q.read_sqe(0, 512)), time.monotonic()
        try:
            q.wire.send(data, step=1, gap=0.1)
            q.wire.expect_closed(5)
        except wire.Closed:
            pass
        expect(1.0 < time.monotonic() - began < 5.0, 'after %.1f s', time.monotonic() - began)
    with t.case('a host that takes no answers: closed within its limit'):
        before = env.quiet()
        h = t.keep(hostpeer.Host(env.who(), queues=0))
        q = t.keep(hostpeer.Queue(env.who(), 1, 'deaf', rcvbuf=4096))
        q.initialise()
        expect(q.connect(sqsize=127, cntlid=h.admin.cntlid).status == n.OK, 'Connect')
        q.wire.send(b''.join(q.capsule(q.read_sqe(0, 262144)) for _ in range(64)))
        env.target.settle(before + 1, within=8)
    env.reason(t, lambda who: env.queue(t, who=who, ic=False).wire.expect_closed(5), 'icreq_timeout')
    env.reason(t, lambda who: env.queue(t, who=who).wire.expect_closed(5), 'connect_timeout')
    env.reason(t, lambda who: ((q := env.queue(t, who=who)).connect(), q.wire.expect_closed(5)), 'first_command_timeout')
    env.reason(t, lambda who: solicited(env, t, who=who)[1].wire.expect_closed(6), 'transfer_timeout')
    env.reason(t, lambda who: env.queue(t, who=who, ic=False).close(), 'host_closed')
    env.reason(t, lambda who: env.queue(t, who=who).wire.reset(), 'host_reset')
