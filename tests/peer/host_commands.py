# SPDX-License-Identifier: Apache-2.0
"""Rows about commands: lengths that lie, ranges, what is not supported, Abort, and stores that fail."""
import os
import struct
import time

import hostpeer
import nvmetcp as n
import rows
import serving
import wire
from host_env import ARENA, BAD_NQN, BLOCKS, DEPTH, MDTS, NS, NS_4K, NS_BROKEN, NS_READ_ONLY, NS_SLOW
from wire import expect

book = rows.Book()


def ends(answer, *statuses, dnr=True):
    """The command ended with one of those statuses."""
    expect(answer.status in statuses, '%s expected, got %s', ' or '.join(map(n.status_text, statuses)),
           n.status_text(answer.status, answer.dnr))
    expect(answer.status == n.OK or dnr is None or answer.dnr == dnr, 'Do Not Retry of %s',
           n.status_text(answer.status, answer.dnr))
    return answer


def still_right(q, nsid=NS, block=512):
    """An ordinary write and read on the same queue: the stream and the slot are as they must be."""
    data = os.urandom(4096)
    ends(q.write(64, data, nsid=nsid, block=block), n.OK)
    expect(ends(q.read(64, 4096, nsid=nsid, block=block), n.OK).data == data, 'read back differently')


def write_of(q, nlb, length, slba=0):
    return n.sqe(n.WRITE, q.next_cid(), NS, n.sgl(n.SGL_TRANSPORT, length), n.rw_cdw(slba, nlb))


@book.row('T006', 'writes of up to 4 GiB whose data never comes')
def t006(t):
    env = t.env
    with t.case('128 on each of 8 queues, an SGL of 0xFFFFF000: refused before anything is taken for them'):
        h = env.host(t, queues=8, io_sqsize=DEPTH - 1)
        base = env.target.rss()
        for q in h.io:
            for i in range(DEPTH - 1):
                q.submit(write_of(q, 65536 if i % 2 else 8, 0xFFFFF000))
        for q in h.io:
            for i in range(DEPTH - 1):
                answer = q.wait(i + 2)
                # Too much for MDTS, or an SGL that is not as long as the blocks: which is said first is open.
                ends(answer, n.INVALID_FIELD, n.SGL_LENGTH)
        grown = env.target.rss() - base
        expect(grown < 8 << 20, 'resident memory grew by %d KiB', grown >> 10)
        for q in h.io:
            still_right(q)
    for nlb, length in ((8, 8192), (16, 4096), (8, 0), (8, 4095), (8, 4100)):
        with t.case('%d blocks and an SGL of %d: Data SGL Length Invalid' % (nlb, length)):
            q = env.host(t).io[0]
            ends(q.command(write_of(q, nlb, length)), n.SGL_LENGTH)
            still_right(q)
    with t.case('one block more than MDTS: Invalid Field in Command; MDTS itself is taken'):
        q = env.host(t).io[0]
        ends(q.command(write_of(q, MDTS // 512 + 1, MDTS + 512)), n.INVALID_FIELD)
        ends(q.write(0, bytes(MDTS)), n.OK)
    def greedy(hosts, submit):
        """They take what they can get and keep it; the other host must not wait for them."""
        env.load.forget_slowest()
        for h in hosts:
            submit(h)
        env.load.more(50, within=5)
        expect(env.load.slowest < (2.0 if env.sanitized else 0.5), 'the other host waited %.2f s', env.load.slowest)
        grown = env.target.rss() - env.watch.base
        most = ARENA + ((96 << 20) if env.sanitized else (8 << 20))
        expect(grown < most, 'resident memory is %d KiB above the start', grown >> 10)

    def asks_for_all(h):
        for i, q in enumerate(h.io):
            length = MDTS >> min(i, 6)
            q.wire.send(b''.join(q.capsule(write_of(q, length // 512, length)) for _ in range(DEPTH - 1)))

    for identities, queues in ((1, 16), (4, 4)):
        with t.case('all that may be asked for, by %d hosts on %d queues each, and nothing sent: memory is bounded, '
                    'others go on' % (identities, queues)):
            hosts = [t.keep(hostpeer.Host(env.who(hostnqn=BAD_NQN[:-1] + 'abcd'[i], hostid=os.urandom(16)),
                                          queues=queues, io_sqsize=DEPTH - 1)) for i in range(identities)]
            greedy(hosts, asks_for_all)
            for h in hosts:
                for q in h.io:
                    q.wire.expect_closed(8)
    with t.case('answers to admin commands of 256 KiB that nobody takes: the same'):
        before = env.quiet()
        queues = []
        for _ in range(8):
            q = t.keep(hostpeer.Queue(env.who(), 0, 'deaf', rcvbuf=4096))
            q.initialise()
            ends(q.connect(sqsize=DEPTH - 1), n.OK)
            q.enable()
            queues.append(q)
        greedy(queues, lambda q: q.wire.send(b''.join(
            q.capsule(n.sqe(n.GET_LOG, q.next_cid(), 0, n.sgl(n.SGL_TRANSPORT, MDTS), n.log_cdw(5, MDTS)))
            for _ in range(DEPTH - 8))))
        for q in queues:
            q.close()
        env.target.settle(before)


@book.row('T032', 'what one command leaves behind for the next in its place')
def t032(t):
    env = t.env
    # Two entries: the same places are used again and again.
    with t.case('every kind of end, each followed by an ordinary write and read'):
        h = env.host(t, io_sqsize=1)
        q, a = h.io[0], h.admin
        old = os.urandom(4096)
        ends(q.write(0, old), n.OK)
        ends(q.write(0, old, fua=True), n.OK)
        still_right(q)
        # Ignored where the format has no protection information.
        ends(q.command(n.sqe(n.READ, q.next_cid(), NS, n.sgl(n.SGL_TRANSPORT, 512), n.rw_cdw(0, 1, prinfo=8)), read=512),
             n.OK)
        still_right(q)
        ends(q.read(BLOCKS, 512), n.LBA_RANGE)
        still_right(q)
        ends(q.command(write_of(q, 8, 100)), n.SGL_LENGTH)
        still_right(q)
        compare = n.sqe(n.COMPARE, q.next_cid(), NS, n.sgl(n.SGL_TRANSPORT, 4096), n.rw_cdw(0, 8))
        ends(q.command(compare, write=os.urandom(4096)), n.COMPARE_FAILURE, dnr=None)
        still_right(q)
        ends(q.command(n.sqe(n.WRITE_ZEROES, q.next_cid(), NS, cdw10=n.rw_cdw(8, 8))), n.OK)
        still_right(q)
        cid = q.submit(q.write_sqe(0, old))
        r = q.expect_r2t(cid)
        a.abort(cid, 1)
        q.data[cid] = old
        q.answer_r2t(r)
        ends(q.wait(cid), n.ABORT_REQUESTED, n.OK, dnr=None)
        still_right(q)
        ends(q.read(2048, 512, nsid=NS_BROKEN), n.READ_ERROR, dnr=None)
        still_right(q)
        ends(q.command(n.sqe(n.FLUSH, q.next_cid(), NS)), n.OK)
        still_right(q)
        expect(ends(q.read(0, 4096), n.OK).data[:4096] == old, 'block 0 has changed')
    with t.case('a CID that is used again at once, 500 times'):
        q = env.host(t).io[0]
        data = [os.urandom(512), os.urandom(1024)]
        for i in range(500):
            d = data[i % 2]
            ends(q.write(i % 7, d, cid=7, capsule=bool(i % 3)), n.OK)
            expect(q.read(i % 7, len(d), cid=7).data == d, 'read back differently')


@book.row('T034', 'a store that fails: a status of another type than generic, and no data')
def t034(t):
    env = t.env
    for cattr in (0, 4):
        with t.case('Read with CATTR %d: Unrecovered Read Error, no C2HData' % cattr):
            q = env.host(t, cattr=cattr).io[0]
            q.submit(q.read_sqe(2048, 4096, nsid=NS_BROKEN))  # no place for data: any would be an error
            answer = q.wait(q.cid)
            expect(answer.status == n.READ_ERROR, n.status_text(answer.status))
            expect(q.read(0, 4096, nsid=NS_BROKEN).status == n.OK, 'a block that is good')


def dsm(q, ranges, nr=None, length=None, nsid=NS, attr=4, **how):
    """Dataset Management; ranges: (slba, blocks)."""
    data = b''.join(struct.pack('<IIQ', 0, blocks, slba) for slba, blocks in ranges)
    data = data.ljust(len(data) if length is None else length, b'\0')[:length]
    sqe = n.sqe(n.DSM, q.next_cid(), nsid, n.sgl(n.SGL_TRANSPORT, len(data)),
                struct.pack('<II', (len(ranges) if nr is None else nr) - 1 & 0xFF, attr))
    return q.command(sqe, **({'write': data} if data else {}), **how)


@book.row('E001', 'Dataset Management: an SGL that is longer or shorter than the ranges')
def e001(t):
    q = t.env.host(t).io[0]
    with t.case('1 range, 4096 bytes: accepted'):
        q = t.env.host(t).io[0]
        ends(dsm(q, [(0, 8)], length=4096), n.OK)
    for nr, length in ((256, 16), (256, 4080), (2, 16), (1, 8), (1, 0)):
        with t.case('%d ranges, %d bytes: Data SGL Length Invalid' % (nr, length)):
            q = t.env.host(t).io[0]
            ends(dsm(q, [(0, 8)] * (length // 16), nr=nr, length=length), n.SGL_LENGTH)
            still_right(q)
    with t.case('256 ranges, 4096 bytes, in the capsule'):
        q = t.env.host(t).io[0]
        data = b''.join(struct.pack('<IIQ', 0, 1, i) for i in range(256))
        ends(q.command(n.sqe(n.DSM, q.next_cid(), NS, n.sgl(n.SGL_CAPSULE, 4096), struct.pack('<II', 255, 4)),
                       capsule=data), n.OK)


@book.row('E002', 'Dataset Management: many ranges, of nothing, overlapping, past the end')
def e002(t):
    for nsid, block, blocks in ((NS, 512, BLOCKS), (NS_4K, 4096, (16 << 20) // 4096)):
        with t.case('blocks of %d: 256 ranges, some of nothing, some overlapping: they read as zeroes' % block):
            q = t.env.host(t).io[0]
            ends(q.write(0, b'\xAA' * (64 * block), nsid=nsid, block=block), n.OK)
            ranges = [(0, 0)] * 100 + [(i % 32, 1 + i % 8) for i in range(156)]
            ends(dsm(q, ranges, nsid=nsid), n.OK)
            got = q.read(0, 64 * block, nsid=nsid, block=block).data
            expect(got[:32 * block] == bytes(32 * block), 'what was deallocated is not zero')
            expect(got[40 * block:] == b'\xAA' * (24 * block), 'what was not deallocated has changed')
        for slba, count in ((blocks, 1), (blocks - 1, 2), (0, 0xFFFFFFFF), (1 << 63, 8), ((1 << 64) - 1, 2)):
            with t.case('blocks of %d: a range of %d at %d among good ones: LBA Out of Range, nothing happens' %
                        (block, count, slba)):
                q = t.env.host(t).io[0]
                ends(q.write(0, b'\xBB' * (8 * block), nsid=nsid, block=block), n.OK)
                ends(dsm(q, [(0, 8)] * 10 + [(slba, count)], nsid=nsid), n.LBA_RANGE)
                expect(q.read(0, 8 * block, nsid=nsid, block=block).data == b'\xBB' * (8 * block), 'it did something')
    with t.case('DMRL, DMRSL and DMSL are all zero, or all set'):
        answer = t.env.host(t).admin.identify(6, csi=0)
        ends(answer, n.OK)
        dmrl, dmrsl, dmsl = struct.unpack_from('<BIQ', answer.data, 3)
        expect(len({bool(dmrl), bool(dmrsl), bool(dmsl)}) == 1, 'DMRL %d, DMRSL %d, DMSL %d', dmrl, dmrsl, dmsl)
    with t.case('on a namespace that is write protected'):
        ends(dsm(t.env.host(t).io[0], [(0, 8)], nsid=NS_READ_ONLY), n.WRITE_PROTECTED)


def halves(q, slba=0, nlb=8, expected=None, wanted=None):
    """Compare and Write as one fused operation: two capsules, with their data or without."""
    capsules, cids = [], []
    for opc, fuse, data in ((n.COMPARE, 1, expected), (n.WRITE, 2, wanted)):
        cids.append(q.next_cid())
        sgl = n.sgl(n.SGL_TRANSPORT, nlb * 512) if data is None else n.sgl(n.SGL_CAPSULE, nlb * 512)
        capsules.append(q.capsule(n.sqe(opc, cids[-1], NS, sgl, n.rw_cdw(slba, nlb), flags=n.PSDT_SGL | fuse),
                                  data or b''))
    return capsules, cids


@book.row('E004', 'fused commands')
def e004(t):
    env = t.env
    old, new = b'\x11' * 4096, b'\x22' * 4096
    expect(struct.unpack_from('<H', env.host(t).admin.identify(1).data, 522)[0] == 1, 'FUSES is not Compare and Write')

    def both(q, cids, first, second):
        ends(q.wait(cids[0]), first, dnr=None)
        ends(q.wait(cids[1]), second, dnr=None)

    def reads(q, data):
        expect(ends(q.read(0, 4096), n.OK).data == data, 'other bytes')

    for fuse, name in ((1, 'first'), (2, 'second'), (3, 'reserved')):
        with t.case('FUSE %d (%s) on commands that are no part of a pair: Invalid Field, or no partner' % (fuse, name)):
            q = env.host(t).io[0]
            for opc in (n.WRITE if fuse == 1 else n.COMPARE, n.READ):
                ends(q.command(n.sqe(opc, q.next_cid(), NS, n.sgl(n.SGL_TRANSPORT, 512), n.rw_cdw(0, 1),
                                     flags=n.PSDT_SGL | fuse)),
                     n.INVALID_FIELD, *([n.MISSING_FUSED] if fuse == 2 else []))
            still_right(q)
    with t.case('a pair in one segment, then one that finds something else: all, or nothing'):
        q = env.host(t).io[0]
        ends(q.write(0, old), n.OK)
        capsules, cids = halves(q, expected=old, wanted=new)
        q.wire.send(b''.join(capsules))
        both(q, cids, n.OK, n.OK)
        reads(q, new)
        capsules, cids = halves(q, expected=old, wanted=old)
        q.wire.send(b''.join(capsules))
        both(q, cids, n.COMPARE_FAILURE, n.FAILED_FUSED)
        reads(q, new)
    with t.case('8 pairs at once, all their data by R2T and in reverse'):
        q = env.host(t).io[0]
        ends(q.write(0, old), n.OK)
        sent = [halves(q) for _ in range(8)]
        q.wire.send(b''.join(b''.join(capsules) for capsules, _ in sent))
        asked = [q.wire.expect_pdu(n.R2T) for _ in range(16)]
        expect([r.cccid for r in asked] == [cid for _, cids in sent for cid in cids], 'R2Ts in another order')
        for r in reversed(asked):
            q.wire.send(q.h2c(r, 0, old))
        for _ in asked:
            got = q.wire.expect_pdu(n.RSP)
            expect(n.status_of(got.status)[0] == n.OK, '%s', got)
        still_right(q)
    with t.case('a second alone, a first alone, a first with something else behind it: Missing Fused Command'):
        q = env.host(t).io[0]
        capsules, cids = halves(q, expected=old, wanted=new)
        q.wire.send(capsules[1])
        ends(q.wait(cids[1]), n.MISSING_FUSED)
        q.wire.send(capsules[0])
        still_right(q)
        ends(q.wait(cids[0]), n.MISSING_FUSED)
        capsules, cids = halves(q)
        q.wire.send(capsules[0])
        still_right(q)
        ends(q.wait(cids[0]), n.MISSING_FUSED)
        q.wire.send(capsules[1])
        ends(q.wait(cids[1]), n.MISSING_FUSED)
        still_right(q)
    with t.case('an Abort of a first: the second fails with it, and nothing else'):
        h = env.host(t)
        q = h.io[0]
        capsules, cids = halves(q, expected=old, wanted=new)
        q.wire.send(capsules[0])
        aborted = h.admin.abort(cids[0], sqid=1)
        q.wire.send(capsules[1])
        if aborted:
            both(q, cids, n.ABORT_REQUESTED, n.FAILED_FUSED)
        else:  # it overtook the command, which is on another connection
            ends(q.wait(cids[0]), n.OK, n.COMPARE_FAILURE)
            ends(q.wait(cids[1]), n.OK, n.FAILED_FUSED, dnr=None)
        still_right(q)
    with t.case('connections that end between the two, 50 times'):
        for i in range(50):
            h = env.host(t)
            capsules, _ = halves(h.io[0], *(() if i % 2 else (0, 8, old, new)))
            h.io[0].wire.send(capsules[0] + capsules[1][:i])
            h.close()
        still_right(env.host(t).io[0])


@book.row('E005', 'Identify with a buffer of another size')
def e005(t):
    env = t.env
    for cns, nsid in ((1, 0), (0, NS), (2, 0), (3, NS), (6, 0)):
        with t.case('CNS %d into 8192 bytes: the page, then zeroes' % cns):
            a = env.host(t).admin
            page = ends(a.identify(cns, nsid), n.OK).data
            big = ends(a.identify(cns, nsid, length=8192), n.OK).data
            expect(big == page.ljust(8192, b'\0'), 'other bytes')
    for length in (0, 16, 4092):
        with t.case('into %d bytes: Data SGL Length Invalid' % length):
            a = env.host(t).admin
            ends(a.command(n.sqe(n.IDENTIFY, a.next_cid(), 0, n.sgl(n.SGL_TRANSPORT, length), b'\1')), n.SGL_LENGTH)
            ends(a.identify(1), n.OK)
    with t.case('every CNS: a page or Invalid Field (Invalid Namespace), never anything else'):
        a = env.host(t).admin
        for cns in range(256):
            for nsid in (0, NS, 77, n.ALL_NS):
                ends(a.identify(cns, nsid), n.OK, n.INVALID_FIELD, n.INVALID_NS, 0x129, 0x12C)


@book.row('E007', 'opcodes of no sense, data commands without data')
def e007(t):
    env = t.env
    for opc in (0x03, 0x07, 0x83, 0x87, 0xFF):
        with t.case('opcode 0x%02x on both queues: Invalid Command Opcode' % opc):
            h = env.host(t)
            for q in (h.io[0], h.admin):
                for length in (0, 512, 4096):
                    ends(q.command(n.sqe(opc, q.next_cid(), NS, n.sgl(n.SGL_TRANSPORT, length))), n.INVALID_OPCODE)
            still_right(h.io[0])
    for name, opc, cdw in (('Read', n.READ, n.rw_cdw(0, 1)), ('Write', n.WRITE, n.rw_cdw(0, 1)),
                           ('Compare', n.COMPARE, n.rw_cdw(0, 1)), ('Dataset Management', n.DSM, struct.pack('<II', 0, 4)),
                           ('Reservation Register', 0x0D, b''), ('Reservation Report', 0x0E, struct.pack('<II', 0, 1)), ('Copy', 0x19, b'')):
        with t.case('%s with an SGL of nothing: a status' % name):
            q = env.host(t).io[0]
            ends(q.command(n.sqe(opc, q.next_cid(), NS, cdw10=cdw)), n.SGL_LENGTH, n.INVALID_OPCODE, n.INVALID_FIELD)
            still_right(q)
    with t.case('each opcode there is, with and without data, on an I/O queue'):
        q = env.host(t, io_sqsize=DEPTH - 1).io[0]
        for opc in range(256):
            for length in (0, 512):
                if opc & 3 == 1 and length or opc == n.DSM:
                    continue  # it would rightly wait for its data
                q.space[q.cid + 1] = [bytearray(length), 0, 0]
                cid = q.submit(n.sqe(opc, q.next_cid(), 0xABCD, n.sgl(n.SGL_TRANSPORT, length)))
                answer = q.wait(cid)
                expect(answer.status not in (n.OK, n.INTERNAL_ERROR), 'opcode 0x%02x: %s', opc, n.status_text(answer.status))
        still_right(q)


@book.row('E008', 'Abort in every state of a command')
def e008(t):
    env = t.env
    with t.case('of a command that is not there: bit 0 of dword 0 is set, nobody else is aborted'):
        h = env.host(t)
        q = h.io[0]
        cid = q.submit(q.write_sqe(0, bytes(8192)), write=bytes(8192))
        for other, sqid in ((cid + 1, 1), (cid, 0), (cid, 2), (cid, 999), (0xFFFF, 1)):
            expect(not h.admin.abort(other, sqid), 'CID %d of queue %d was aborted', other, sqid)
        ends(q.wait(cid), n.OK)
    with t.case('while it waits for its data: the data that comes late is taken, the stream goes on'):
        h = env.host(t)
        q, data = h.io[0], os.urandom(8192)
        old = ends(q.read(0, 8192), n.OK).data
        cid = q.submit(q.write_sqe(0, data))
        r = q.expect_r2t(cid)
        said = h.admin.abort(cid, 1)
        if said:
            ends(q.wait(cid), n.ABORT_REQUESTED, dnr=None)
            q.wire.send(q.h2c(r, 0, data))
        else:
            q.wire.send(q.h2c(r, 0, data))
            answer = ends(q.wait(cid), n.ABORT_REQUESTED, n.OK, dnr=None)
            expect(q.read(0, 8192).data == (data if answer.status == n.OK else old), 'done although aborted, or the reverse')
        still_right(q)
    with t.case('in the middle of its data'):
        h = env.host(t)
        q = h.io[0]
        cid = q.submit(q.write_sqe(0, bytes(8192)))
        r = q.expect_r2t(cid)
        whole = q.h2c(r, 0, bytes(8192))
        q.wire.send(whole[:3000])
        time.sleep(0.05)
        h.admin.abort(cid, 1)
        q.wire.send(whole[3000:])
        ends(q.wait(cid), n.ABORT_REQUESTED, n.OK, dnr=None)
        still_right(q)
    with t.case('while it is in the store: it ends once, whatever is said'):
        h = env.host(t)
        q = h.io[0]
        cid = q.submit(q.write_sqe(0, bytes(512), nsid=NS_SLOW, capsule=True), capsule=bytes(512))
        time.sleep(0.05)
        said = h.admin.abort(cid, 1)
        ends(q.wait(cid), n.ABORT_REQUESTED if said else n.OK, dnr=None)
        q.wire.silent(0.5)
    with t.case('while it waits for memory'):
        h = env.host(t, io_sqsize=DEPTH - 1)
        q = h.io[0]
        cids = [q.submit(write_of(q, MDTS // 512, MDTS)) for _ in range(DEPTH - 1)]
        # The first ones get their R2T; by then the last ones may still be on their way.
        q.expect_r2t(cids[0])
        time.sleep(0.1)
        expect(h.admin.abort(cids[-1], 1), 'it was not aborted')
        while cids[-1] not in q.answers:
            p = q.wire.pdu()
            if p.kind != n.R2T:
                q.take(p)
        ends(q.wait(cids[-1]), n.ABORT_REQUESTED, dnr=None)
    with t.case('an Asynchronous Event Request, and one that is not there any more'):
        a = env.host(t).admin
        cid = a.event_request()
        expect(a.abort(cid), 'it was not aborted')
        ends(a.wait(cid), n.ABORT_REQUESTED, dnr=None)
        expect(not a.abort(cid), 'it was aborted twice')
    with t.case('200 of them, while commands come and go'):
        h = env.host(t, io_sqsize=DEPTH - 1)
        q = h.io[0]
        for i in range(200):
            cid = q.submit(q.write_sqe(i, bytes(4096)), write=bytes(4096))
            h.admin.abort(cid if i % 2 else cid + 5, 1)
            ends(q.wait(cid), n.OK, n.ABORT_REQUESTED, dnr=None)
        still_right(q)
    with t.case('the queue goes away while an Abort for it is on its way'):
        h = env.host(t)
        q = h.io[0]
        cid = q.submit(q.write_sqe(0, bytes(8192)))
        abort = h.admin.submit(n.sqe(n.ABORT, h.admin.next_cid(), cdw10=struct.pack('<HH', 1, cid)))
        q.wire.reset()
        ends(h.admin.wait(abort), n.OK)


@book.row('E010', 'what is not supported, and features that cannot be changed')
def e010(t):
    env = t.env
    with t.case('admin commands that are not supported: Invalid Command Opcode'):
        a = env.host(t).admin
        # Create and delete queues, firmware, namespaces, self-test, NVMe-MI, format, security, sanitize, doorbells.
        for opc in (0, 1, 4, 5, 0x0D, 0x10, 0x11, 0x14, 0x15, 0x19, 0x1A, 0x1C, 0x1D, 0x1E, 0x20, 0x7C, 0x80, 0x81, 0x82, 0x84,
                    0x86, 0xC0):
            ends(a.command(n.sqe(opc, a.next_cid())), n.INVALID_OPCODE)
    with t.case('I/O commands that ONCS does not have: Invalid Command Opcode'):
        h = env.host(t)
        oncs = struct.unpack_from('<H', h.admin.identify(1).data, 520)[0]
        optional = {n.COMPARE: 1 << 0, n.WRITE_UNCORRECTABLE: 1 << 1, n.DSM: 1 << 2, n.WRITE_ZEROES: 1 << 3,
                    0x0D: 1 << 5, 0x0E: 1 << 5, 0x11: 1 << 5, 0x15: 1 << 5, n.VERIFY: 1 << 7, 0x19: 1 << 8}
        for opc, bit in optional.items():
            q = h.io[0]
            q.data[q.cid + 1] = bytes(512)
            answer = q.command(n.sqe(opc, q.next_cid(), NS, n.sgl(n.SGL_TRANSPORT, 512 if opc in (n.COMPARE, n.DSM) else 0),
                                     n.rw_cdw(0, 1)))
            expect((answer.status != n.INVALID_OPCODE) == bool(oncs & bit), 'opcode 0x%02x, ONCS 0x%x: %s', opc, oncs,
                   n.status_text(answer.status))
    with t.case('Interrupt Coalescing: Feature Not Changeable'):
        ends(env.host(t).admin.set_feature(8, 0x101), n.NOT_CHANGEABLE)
    with t.case('every feature: changed, or a status that says why not'):
        a = env.host(t).admin
        for fid in range(256):
            if fid == 0x0F:
                continue  # it would start a keep alive timer
            ends(a.set_feature(fid, 0), n.OK, n.INVALID_FIELD, n.NOT_CHANGEABLE, n.SEQUENCE_ERROR, n.SGL_LENGTH,
                 n.INVALID_NS, dnr=None)
            ends(a.get_feature(fid), n.OK, n.INVALID_FIELD, n.SGL_LENGTH, n.INVALID_NS, dnr=None)
        ends(a.identify(1), n.OK)
    with t.case('saving: Feature Identifier Not Saveable'):
        a = env.host(t).admin
        ends(a.set_feature(1 | 1 << 31, 0), n.NOT_SAVEABLE)


@book.row('E011', 'reads and writes past the end')
def e011(t):
    for nsid, block, blocks in ((NS, 512, BLOCKS), (NS_4K, 4096, (16 << 20) // 4096)):
        for slba, nlb in ((blocks, 1), (blocks - 1, 2), (blocks - 8, 16), ((1 << 64) - 1, 1), ((1 << 64) - 1, 2),
                          (1 << 63, 8), ((1 << 55) - 1, 8), (1 << 32, 1)):
            with t.case('blocks of %d: %d of them at %d: LBA Out of Range' % (block, nlb, slba)):
                q = t.env.host(t).io[0]
                for opc in (n.READ, n.WRITE, n.COMPARE, n.VERIFY, n.WRITE_ZEROES):
                    length = nlb * block if opc in (n.READ, n.WRITE, n.COMPARE) else 0
                    ends(q.command(n.sqe(opc, q.next_cid(), nsid, n.sgl(n.SGL_TRANSPORT, length), n.rw_cdw(slba, nlb))),
                         n.LBA_RANGE)
                still_right(q)
        with t.case('blocks of %d: the last one is there' % block):
            q, data = t.env.host(t).io[0], os.urandom(block)
            if nsid == NS:
                expect(ends(q.read(blocks - 1, block), n.OK).data is not None, 'no data')  # the load's
            else:
                ends(q.write(blocks - 1, data, nsid=nsid, block=block), n.OK)
                expect(q.read(blocks - 1, block, nsid=nsid, block=block).data == data, 'read back differently')


@book.row('E013', 'Flush, and the volatile write cache')
def e013(t):
    env = t.env
    with t.case('NSID 0: Invalid Namespace; one that is not there too; 1: done'):
        q = env.host(t).io[0]
        ends(q.command(n.sqe(n.FLUSH, q.next_cid(), 0)), n.INVALID_NS)
        ends(q.command(n.sqe(n.FLUSH, q.next_cid(), 77)), n.INVALID_NS)
        ends(q.command(n.sqe(n.FLUSH, q.next_cid(), NS)), n.OK)
    with t.case('all namespaces: as VWC says; here one of them fails, and so does the command'):
        h = env.host(t)
        vwc = h.admin.identify(1).data[525]
        answer = h.io[0].command(n.sqe(n.FLUSH, h.io[0].next_cid(), n.ALL_NS))
        if vwc >> 1 & 3 == 3:
            expect(answer.status not in (n.OK, n.INVALID_NS), 'a flush that failed was a success')
        else:
            ends(answer, n.INVALID_NS, n.INVALID_FIELD)
    with t.case('a flush that the store fails is not a success'):
        q = env.host(t).io[0]
        answer = q.command(n.sqe(n.FLUSH, q.next_cid(), NS_BROKEN))
        expect(answer.status not in (n.OK, n.INVALID_NS), n.status_text(answer.status))
    for store, present in (('memory:1M', None), ('null:1M', None)):
        with t.case('%s: the feature agrees with Identify' % store), env.fresh(t, namespaces=(store,)) as target:
            h = t.keep(hostpeer.Host(target.who()))
            vwc = h.admin.identify(1).data[525] & 1
            ends(h.admin.get_feature(6), n.OK if vwc else n.INVALID_FIELD)
            ends(h.io[0].command(n.sqe(n.FLUSH, h.io[0].next_cid(), n.ALL_NS)), n.OK)
            h.close()
    with t.case('a file has one; Flush (DU1), and writes with FUA (DU2), are in it'):
        path = os.path.join(env.target.dir, 'flushed.img')
        with env.fresh(t, namespaces=('file:%s,size=1M' % path,)) as target:
            h = t.keep(hostpeer.Host(target.who()))
            expect(h.admin.identify(1).data[525] & 1 == 1, 'no volatile write cache')
            data = os.urandom(4096)
            ends(h.io[0].write(0, data, fua=True), n.OK)
            ends(h.io[0].command(n.sqe(n.FLUSH, h.io[0].next_cid(), NS)), n.OK)
            with open(path, 'rb') as f:
                expect(f.read(4096) == data, 'the file has other bytes')
            h.close()


@book.row('N003', 'the file behind a namespace shrinks and grows')
def n003(t):
    env = t.env
    with t.case('reads of what is gone fail, the rest is served, and what comes back is served again'):
        path = os.path.join(env.target.dir, 'shrunk.img')
        with env.fresh(t, namespaces=('file:%s,size=2M' % path,)) as target:
            h = t.keep(hostpeer.Host(target.who()))
            q, data = h.io[0], os.urandom(4096)
            ends(q.write(0, data), n.OK)
            os.truncate(path, 1 << 20)
            expect(q.read(0, 4096).data == data, 'the part that is there')
            answer = q.read(3072, 4096)
            expect(answer.status != n.OK, 'data came from behind the end of the file')
            answer = q.read(2044, 4096)
            expect(answer.status != n.OK, 'data came from across the end of the file')
            os.truncate(path, 2 << 20)
            ends(q.read(3072, 4096), n.OK)
            expect(q.read(0, 4096).data == data, 'the first part')
            h.close()


@book.row('N004', 'NN is the largest NSID there can be')
def n004(t):
    with t.case('every active namespace is within it; NSIDs above it are invalid'):
        h = t.env.host(t)
        nn = struct.unpack_from('<I', h.admin.identify(1).data, 516)[0]
        active = [x for x in struct.unpack('<1024I', h.admin.identify(2).data) if x]
        expect(active == [NS, NS_4K, NS_READ_ONLY, NS_SLOW, NS_BROKEN] and max(active) <= nn, '%s, NN %d', active, nn)
        ends(h.admin.identify(0, nn + 1), n.INVALID_NS)
        expect(not any(ends(h.admin.identify(0, nn), n.OK).data), 'something at NSID %d' % nn)
        ends(h.io[0].read(0, 512, nsid=nn), n.INVALID_NS)
    with t.case('a namespace above it is not served'):
        config = serving.serve_config(limits={'namespaces': 4})
        config['subsystems'][0]['namespaces'] = [{'store': 'memory:1M', 'nsid': 5}]
        try:
            serving.Serving(config).clean_up()
            raise AssertionError('serve accepted it')
        except wire.Failed as e:
            expect('5' in str(e), '%s', e)


@book.row('DU4', 'no space left')
def du4(t):
    with t.case('Capacity Exceeded, others continue'):
        q = t.env.host(t).io[0]
        ends(q.write(4096, bytes(4096), nsid=NS_BROKEN), n.CAPACITY, dnr=None)
        still_right(q, NS_BROKEN)
        still_right(q)


@book.row('DU5', 'media errors')
def du5(t):
    with t.case('of type media, by direction; reads across a bad block fail as a whole'):
        q = t.env.host(t).io[0]
        for slba, length in ((2048, 512), (2055, 512), (2040, 8192)):
            ends(q.read(slba, length, nsid=NS_BROKEN), n.READ_ERROR, dnr=None)
        ends(q.read(2040, 4096, nsid=NS_BROKEN), n.OK)
        ends(q.read(2056, 512, nsid=NS_BROKEN), n.OK)


@book.row('Z010', 'data digests over data from the store, of all sizes')
def z010(t):
    with t.case('512 bytes to MDTS, written and read back with both digests'):
        q = t.env.host(t, dgst=3).io[0]
        for length in (512, 1536, 4096, 8192, 65536 + 512, MDTS):
            data = os.urandom(length)
            ends(q.write(0, data), n.OK)
            expect(ends(q.read(0, length), n.OK).data == data, '%d bytes read back differently', length)


@book.row('Z014', 'answers that are longer than a piece of memory')
def z014(t):
    with t.case('Identify and logs of 4 KiB to 64 KiB have the page, then zeroes, in any state of the memory'):
        h = t.env.host(t, io_sqsize=DEPTH - 1)
        page = h.admin.identify(1).data
        # Some memory taken and given back, so that what is left is in pieces.
        q = h.io[0]
        cids = [q.submit(q.read_sqe(i, 4096 + 512 * (i % 9)), read=4096 + 512 * (i % 9)) for i in range(100)]
        for length in (4096, 4100, 8192, 12288, 65536):
            expect(h.admin.identify(1, length=length).data == page.ljust(length, b'\0'), 'Identify of %d', length)
            effects = ends(h.admin.log(5, length), n.OK).data
            expect(effects[:4096] == h.admin.log(5, 4096).data and not any(effects[4096:]), 'effects log of %d', length)
        for cid in cids:
            ends(q.wait(cid), n.OK)
