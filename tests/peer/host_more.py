# SPDX-License-Identifier: Apache-2.0
"""Rows of our own about a host: F numbers are ours, for faults that are in no report we know of but are of the same
kinds as those that are."""
import os
import random
import struct
import time

import hostpeer
import nvmetcp as n
import rows
import wire
from host_commands import ends, still_right
from host_connect import granted, refused
from host_env import BLOCKS, DEPTH, MDTS, NS, NS_4K, NS_BROKEN, NS_READ_ONLY, NS_SLOW
from wire import expect

book = rows.Book()
SHN_NORMAL, SHN_ABRUPT = 1 << 14, 2 << 14
CFS, SHST_COMPLETE = 2, 2
RESV_REGISTER, RESV_REPORT, RESV_ACQUIRE, RESV_RELEASE = 0x0D, 0x0E, 0x11, 0x15


def shst(a):
    return a.get_property(n.CSTS).result >> 2 & 3


def until(what, holds, within=wire.PATIENCE):
    end = time.monotonic() + within
    while not holds():
        expect(time.monotonic() < end, '%s', what)
        time.sleep(0.01)


@book.row('F11', 'a CID that is in use already')
def f11(t):
    with t.case('two writes with one CID wait for their data: each R2T has its own tag, each write its own data'):
        q = t.env.host(t).io[0]
        one, two = os.urandom(4096), os.urandom(4096)
        cid = q.next_cid()
        q.wire.send(q.capsule(q.write_sqe(0, one, cid=cid)) + q.capsule(q.write_sqe(100, two, cid=cid)))
        first, second = q.wire.expect_pdu(n.R2T, cccid=cid), q.wire.expect_pdu(n.R2T, cccid=cid)
        expect(first.ttag != second.ttag, 'both have TTAG %d', first.ttag)
        q.wire.send(q.h2c(second, 0, two) + q.h2c(first, 0, one))
        for _ in range(2):
            # Command ID Conflict is allowed, and not what this target or Linux' says.
            expect(n.status_of(q.wire.expect_pdu(n.RSP, cid=cid).status)[0] in (n.OK, n.CID_CONFLICT), 'another status')
        expect(q.read(0, 4096).data == one and q.read(100, 4096).data == two, 'data went astray')
    with t.case('an Abort of it aborts one of them at most, and both are answered'):
        h = t.env.host(t)
        q, cid = h.io[0], h.io[0].next_cid()
        for slba in (0, 100):
            q.wire.send(q.capsule(q.write_sqe(slba, bytes(512), cid=cid)))
        asked = [q.wire.expect_pdu(n.R2T, cccid=cid) for _ in range(2)]
        h.admin.abort(cid, sqid=1)
        for r in asked:
            q.wire.send(q.h2c(r, 0, bytes(512)))
        codes = [n.status_of(q.wire.expect_pdu(n.RSP, cid=cid).status)[0] for _ in asked]
        expect(codes.count(n.ABORT_REQUESTED) <= 1 and set(codes) <= {n.OK, n.ABORT_REQUESTED}, '%s', codes)
        still_right(q)


@book.row('F12', 'NSIDs: none, all, one that is not there, one that cannot be, in every command')
def f12(t):
    bad = (0, 6, 255, 0x10000, 0xFFFFFFFE, n.ALL_NS)
    data = {n.WRITE: n.rw_cdw(0, 1), n.READ: n.rw_cdw(0, 1), n.COMPARE: n.rw_cdw(0, 1), n.WRITE_ZEROES: n.rw_cdw(0, 1),
            n.VERIFY: n.rw_cdw(0, 1), n.DSM: struct.pack('<II', 31,
                                                         4), RESV_REGISTER: b'', RESV_ACQUIRE: struct.pack('<I', 1 << 8),
            RESV_RELEASE: struct.pack('<I', 1 << 8), RESV_REPORT: struct.pack('<II', 127, 1)}
    for opc, cdw in data.items():
        with t.case('opcode 0x%02x: Invalid Namespace or Format, nothing is asked for or sent' % opc):
            q = t.env.host(t).io[0]
            for nsid in bad:
                length = 0 if opc in (n.WRITE_ZEROES, n.VERIFY) else 512
                ends(q.command(n.sqe(opc, q.next_cid(), nsid, n.sgl(n.SGL_TRANSPORT, length), cdw)), n.INVALID_NS)
            still_right(q)
    with t.case('Identify: lists go on behind any NSID, pages are of one that can be'):
        a = t.env.host(t).admin
        for cns in (2, 7, 0x10):
            for after in (0, 1, 4, 5, 6, 0xFFFFFFFD):
                page = ends(a.identify(cns, after), n.OK).data
                got = [x for x in struct.unpack('<1024I', page) if x]
                expect(got == [x for x in range(1, 6) if x > after], 'CNS %d behind %d: %s', cns, after, got)
            for after in (0xFFFFFFFE, n.ALL_NS):
                ends(a.identify(cns, after), n.INVALID_NS)
        for cns in (0, 3, 5, 8, 0x11):
            for nsid in (0, 0xFFFFFFFE, n.ALL_NS):
                ends(a.identify(cns, nsid), n.INVALID_NS, n.INVALID_FIELD)
    with t.case('features and logs that are of no namespace'):
        a = t.env.host(t).admin
        for nsid in (0, n.ALL_NS):
            ends(a.set_feature(0x0B, 0, nsid=nsid), n.OK)
        ends(a.set_feature(0x0B, 0, nsid=NS), n.NOT_PER_NS)
        for nsid in (0, n.ALL_NS):
            ends(a.log(2, 512, nsid=nsid), n.OK)
        ends(a.log(2, 512, nsid=NS), n.INVALID_FIELD)


@book.row('F13', 'properties: offsets and sizes that are none')
def f13(t):
    def get(a, offset, attrib):
        return a.command(n.fabrics(n.PROPERTY_GET, a.next_cid(), cdw10=struct.pack('<B3xI', attrib, offset)))

    def put(a, offset, attrib, value):
        return a.command(n.fabrics(n.PROPERTY_SET, a.next_cid(), cdw10=struct.pack('<B3xIQ', attrib, offset, value)))
    good = {(n.CAP, 1), (n.VS, 0), (n.CC, 0), (n.CSTS, 0), (0x68, 0)}
    with t.case('every offset up to 1000h and the last, in every size: five properties, all else Invalid Field'):
        h = t.env.host(t)
        for offset in list(range(0, 0x70)) + [0x1000, 0x7FFFFFFC, 0xFFFFFFF8, 0xFFFFFFFC, 0xFFFFFFFF]:
            for attrib in range(8) if offset < 0x20 else (0, 1):
                answer = get(h.admin, offset, attrib)
                expect((answer.status == n.OK) == ((offset, attrib) in good), 'offset 0x%x, size %d: %s', offset, attrib,
                       n.status_text(answer.status))
    with t.case('setting anything but CC, or CC in another size: Invalid Field, and nothing is changed'):
        h = t.env.host(t)
        others = [(offset, 0) for offset in range(0, 0x70) if offset != n.CC]
        for offset, attrib in others + [(n.CC, size) for size in range(1, 8)] + [(0xFFFFFFFC, 0)]:
            ends(put(h.admin, offset, attrib, 0), n.INVALID_FIELD)
        expect(h.admin.get_property(n.CC).result == n.CC_ENABLE, 'CC changed')
        still_right(h.io[0])
    with t.case('on an I/O queue, and commands of no sense: a status, and the queue lives'):
        h = t.env.host(t)
        q = h.io[0]
        for fctype in range(256):
            if fctype not in (n.CONNECT, n.DISCONNECT):
                answer = q.command(n.fabrics(fctype, q.next_cid()))
                expect(answer.status not in (n.OK, n.INTERNAL_ERROR), 'FCTYPE %d: %s', fctype,
                       n.status_text(answer.status))
        ends(q.command(n.fabrics(n.DISCONNECT, q.next_cid(), cdw10=struct.pack('<H', 1))), n.CONNECT_FORMAT)
        still_right(q)


@book.row('F14', 'CC: enabled, reset and shut down in any order')
def f14(t):
    env = t.env

    def reset(a):
        ends(a.set_property(n.CC, 0), n.OK)
        until('CSTS.RDY stays 1', lambda: not a.get_property(n.CSTS).result & 1)
    with t.case('50 times EN 1, EN 1, EN 0, EN 0: RDY follows, I/O queues can be had each time'):
        h = env.host(t)
        for i in range(50):
            ends(h.admin.set_property(n.CC, n.CC_ENABLE), n.OK)
            still_right(h.io[-1])
            reset(h.admin)
            ends(h.admin.set_property(n.CC, 0), n.OK)
            h.io[-1].wire.expect_closed()
            h.admin.enable()
            h.add_queue(1)
    with t.case('EN 0 and 1 again while a write is in the store: RDY falls when it has ended, and no sooner'):
        h = env.host(t)
        q, data = h.io[0], os.urandom(512)
        q.submit(q.write_sqe(0, data, nsid=NS_SLOW, capsule=True), capsule=data)
        time.sleep(0.1)
        ends(h.admin.set_property(n.CC, 0), n.OK)
        expect(h.admin.get_property(n.CSTS).result & 1, 'RDY fell while the write was in the store')
        expect(h.admin.set_property(n.CC, n.CC_ENABLE).status == n.SEQUENCE_ERROR, 'it was enabled before that')
        until('RDY stays 1', lambda: not h.admin.get_property(n.CSTS).result & 1)
        h.admin.enable()
        expect(h.add_queue(1).read(0, 512, nsid=NS_SLOW).data == data, 'the write is not there')
    for name, shn in (('normal', SHN_NORMAL), ('abrupt', SHN_ABRUPT)):
        with t.case('%s shutdown, twice, then a reset, then enabled again: as new' % name):
            h = env.host(t)
            for _ in range(3):
                for _ in range(2):
                    ends(h.admin.set_property(n.CC, n.CC_ENABLE | shn), n.OK)
                until('SHST never says complete', lambda: shst(h.admin) == SHST_COMPLETE)
                reset(h.admin)
                expect(shst(h.admin) == 0, 'SHST is not 0 after a reset')
                h.admin.enable()
                expect(shst(h.admin) == 0, 'SHST is not 0 after that')
            still_right(h.add_queue(1))
    with t.case('a shutdown before it was enabled, and at once with it'):
        for first in (n.CC_ENABLE & ~1 | SHN_NORMAL, n.CC_ENABLE | SHN_NORMAL):
            q = env.queue(t)
            granted(q)
            ends(q.set_property(n.CC, first), n.OK)
            until('SHST never says complete', lambda q=q: shst(q) == SHST_COMPLETE)
    with t.case('values that are not offered: CSTS.CFS, commands are refused, a reset mends it'):
        for value in (n.CC_ENABLE | 1 << 7, n.CC_ENABLE | 1 << 11, n.CC_ENABLE | 1 << 4, n.CC_ENABLE ^ 1 << 16, 1):
            q = env.queue(t)
            granted(q)
            ends(q.set_property(n.CC, value), n.OK)
            expect(q.get_property(n.CSTS).result & 3 == CFS, 'CC 0x%x: CSTS is 0x%x', value,
                   q.get_property(n.CSTS).result)
            ends(q.identify(1), n.SEQUENCE_ERROR)
            reset(q)
            q.enable()
            ends(q.identify(1), n.OK)


@book.row('F15', 'SGLs and capsules whose numbers wrap')
def f15(t):
    with t.case('in-capsule offsets and lengths up to 2^64: SGL Offset or Length Invalid, never a write'):
        q, old = t.env.host(t).io[0], os.urandom(4096)
        ends(q.write(0, old), n.OK)
        for offset, length in ((1, 512), (511, 512), ((1 << 64) - 512, 512), ((1 << 64) - 1, 512), (1 << 63, 512),
                               (1 << 32, 512),
                               ((1 << 32) - 512, 512), (0, 0xFFFFFFFF), (512, 0xFFFFFE00), (4, 0xFFFFFFFC), (0, 0)):
            answer = q.command(n.sqe(n.WRITE, q.next_cid(), NS, n.sgl(n.SGL_CAPSULE, length, offset), n.rw_cdw(0, 1)),
                               capsule=bytes(512))
            ends(answer, n.SGL_OFFSET, n.SGL_LENGTH)
        expect(q.read(0, 4096).data == old, 'something was written')
    with t.case('a transport SGL with an address: it means nothing there'):
        q, data = t.env.host(t).io[0], os.urandom(512)
        cid = q.submit(n.sqe(n.WRITE, q.next_cid(), NS, n.sgl(n.SGL_TRANSPORT, 512, (1 << 64) - 1), n.rw_cdw(3, 1)),
                       write=data)
        ends(q.wait(cid), n.OK)
        expect(q.read(3, 512).data == data, 'differs')
    with t.case('capsules with more padding, of lengths that are no multiple of 4, and with a PDO but no data'):
        q, data = t.env.host(t).io[0], os.urandom(512)
        for pdo in (76, 80, 128, 252):
            s = q.write_sqe(5, data, capsule=True)
            head = struct.pack('<BBBBI', n.CMD, 0, 72, pdo, pdo + 512) + s
            q.wire.send(head.ljust(pdo, b'\xee') + data)
            ends(q.wait(q.cid), n.OK)
            expect(q.read(5, 512).data == data, 'PDO %d: differs', pdo)
        for extra in (1, 2, 3, 5):
            s = q.write_sqe(5, data, capsule=True)
            q.wire.send(struct.pack('<BBBBI', n.CMD, 0, 72, 72, 72 + 512 + extra) + s + data + bytes(extra))
            ends(q.wait(q.cid), n.OK, n.SGL_OFFSET)
            still_right(q)
        for pdo in (0, 1, 72, 255):
            s = n.sqe(n.FLUSH, q.next_cid(), NS)
            q.wire.send(struct.pack('<BBBBI', n.CMD, 0, 72, pdo, 72) + s)
            ends(q.wait(q.cid), n.OK)
    with t.case('a data digest flag on commands without data, where one was agreed on: taken'):
        q = t.env.host(t, dgst=3).io[0]
        for flags in (n.HDGST, n.HDGST | n.DDGST):
            q.wire.send(q.capsule(n.sqe(n.FLUSH, q.next_cid(), NS), all_flags=flags))
            ends(q.wait(q.cid), n.OK)
        still_right(q)


@book.row('F16', 'Compare: the first, the last and every other byte')
def f16(t):
    for block, nsid in ((512, NS), (4096, NS_4K)):
        with t.case('blocks of %d: a difference anywhere is found, of a length up to MDTS' % block):
            q = t.env.host(t).io[0]
            for length in (block, 8 * block, 65536, MDTS):
                data = bytearray(os.urandom(length))
                ends(q.write(0, bytes(data), nsid=nsid, block=block), n.OK)

                def compare(what, length=length):
                    sqe = n.sqe(n.COMPARE, q.next_cid(), nsid, n.sgl(n.SGL_TRANSPORT, length),
                                n.rw_cdw(0, length // block))
                    return q.wait(q.submit(sqe, write=bytes(what)))
                ends(compare(data), n.OK)
                for at in (0, 1, length // 2, length - 1, random.randrange(length)):
                    data[at] ^= 1
                    ends(compare(data), n.COMPARE_FAILURE)
                    data[at] ^= 1
                ends(compare(data), n.OK)
    with t.case('of what cannot be read: Unrecovered Read Error, not a difference'):
        q = t.env.host(t).io[0]
        cid = q.submit(n.sqe(n.COMPARE, q.next_cid(), NS_BROKEN, n.sgl(n.SGL_TRANSPORT, 4096), n.rw_cdw(2048, 8)),
                       write=bytes(4096))
        ends(q.wait(cid), n.READ_ERROR, dnr=None)


@book.row('F17', 'Write Zeroes and Verify of as much as they can name')
def f17(t):
    for deac in (0, 1 << 25):
        with t.case('65536 blocks of 512%s: zeroes, and nothing else is touched' % (', DEAC' if deac else '')):
            q, mark = t.env.host(t).io[0], b'\xA5' * 512
            for slba in (99, 100, 65635, 65636):
                ends(q.write(slba, mark), n.OK)
            cdw = struct.pack('<QI', 100, 65535 | deac)
            ends(q.command(n.sqe(n.WRITE_ZEROES, q.next_cid(), NS, cdw10=cdw), within=30), n.OK)
            expect([q.read(x, 512).data == mark for x in (99, 100, 65635, 65636)] == [True, False, False, True],
                   'the wrong blocks')
            expect(not any(q.read(100, 512).data) and not any(q.read(65635, 512).data), 'not zeroes')
            ends(q.command(n.sqe(n.VERIFY, q.next_cid(), NS, cdw10=struct.pack('<QI', 100, 65535)), within=30), n.OK)
    with t.case('more than there is: LBA Out of Range, nothing is zeroed'):
        q, data = t.env.host(t).io[0], os.urandom(4096)
        ends(q.write(0, data, nsid=NS_4K, block=4096), n.OK)
        for slba, nlb in ((0, 65536), (4095, 2), (4096, 1), ((1 << 64) - 1, 1), ((1 << 64) - 1, 65536)):
            for opc in (n.WRITE_ZEROES, n.VERIFY):
                ends(q.command(n.sqe(opc, q.next_cid(), NS_4K, cdw10=n.rw_cdw(slba, nlb))), n.LBA_RANGE)
        expect(q.read(0, 4096, nsid=NS_4K, block=4096).data == data, 'it was zeroed')
    with t.case('all that writes, to a namespace that is write protected: Namespace is Write Protected'):
        q = t.env.host(t).io[0]
        for opc in (n.WRITE, n.WRITE_ZEROES):
            length = 512 if opc == n.WRITE else 0
            for fua in (False, True):
                where = n.sgl(n.SGL_TRANSPORT, length)
                ends(q.command(n.sqe(opc, q.next_cid(), NS_READ_ONLY, where, n.rw_cdw(0, 1, fua=fua))), n.WRITE_PROTECTED)
        ends(q.command(n.sqe(n.FLUSH, q.next_cid(), NS_READ_ONLY)), n.OK)
        still_right(q)


@book.row('F18', 'Abort of itself, of another queue, of what is nowhere')
def f18(t):
    with t.case('its own CID, an SQID of no queue or of another: bit 0 of dword 0 is set, nobody is aborted'):
        h = t.env.host(t, queues=2)
        a, q = h.admin, h.io[0]
        r = q.expect_r2t(q.submit(q.write_sqe(0, bytes(4096))))
        events = a.event_request()
        for sqid, cid in ((0, None), (0, 0xFFFF), (0, r.cccid ^ 0x4000), (2, r.cccid), (3, r.cccid), (64, r.cccid),
                          (65, r.cccid), (0xFFFF, r.cccid)):
            mine = a.next_cid()
            answer = a.command(n.sqe(n.ABORT, mine, cdw10=struct.pack('<HH', sqid, mine if cid is None else cid)))
            ends(answer, n.OK)
            expect(answer.result & 1, 'SQID %d CID %s: it says that it aborted something', sqid, cid)
        q.wire.send(q.h2c(r, 0, bytes(4096)))
        ends(q.wait(r.cccid), n.OK)
        expect(events not in a.answers, 'the event request was aborted')
    with t.case('40 at once for one command: one says so at most, each is answered'):
        h = t.env.host(t, sqsize=DEPTH - 1)
        q, a = h.io[0], h.admin
        r = q.expect_r2t(q.submit(q.write_sqe(0, bytes(512))))
        cids = [a.submit(n.sqe(n.ABORT, a.next_cid(), cdw10=struct.pack('<HH', 1, r.cccid))) for _ in range(40)]
        answers = [a.wait(cid) for cid in cids]
        expect(all(x.status in (n.OK, 0x103) for x in answers), 'another status')
        expect(sum(x.status == n.OK and not x.result & 1 for x in answers) <= 1, 'aborted twice')
        q.wire.send(q.h2c(r, 0, bytes(512)))
        expect(q.wait(r.cccid).status in (n.OK, n.ABORT_REQUESTED), 'another end')
        still_right(q)


@book.row('F19', 'an I/O queue that is left with commands in every state')
def f19(t):
    with t.case('Disconnect: it is answered last, nothing is answered after it, and the rest of the controller lives'):
        h = t.env.host(t, queues=2, io_sqsize=DEPTH - 1)
        q = h.io[0]
        slow = [q.submit(q.write_sqe(8 * i, bytes(512), nsid=NS_SLOW, capsule=True),
                         capsule=bytes(512)) for i in range(4)]
        waits = [q.submit(q.write_sqe(8 * i, bytes(4096))) for i in range(4)]
        asked = [q.expect_r2t(cid) for cid in waits]
        bye = q.next_cid()
        q.wire.send(q.capsule(n.fabrics(n.DISCONNECT, bye)))
        for r in asked:
            q.wire.send(q.h2c(r, 0, bytes(4096)))
        seen = []
        while bye not in seen:
            seen.append(q.wire.expect_pdu(n.RSP).cid)
        expect(set(slow + waits) <= set(seen) and len(seen) == len(set(seen)), 'answered: %s of %s', seen, slow + waits)
        q.wire.expect_closed()
        still_right(h.io[1])
        h.io[0] = h.add_queue(1)
        still_right(h.io[0])
    with t.case('a command behind Disconnect: refused as one of a queue that is being deleted'):
        h = t.env.host(t)
        q = h.io[0]
        q.submit(q.write_sqe(0, bytes(512), nsid=NS_SLOW, capsule=True), capsule=bytes(512))
        bye = q.next_cid()
        q.wire.send(q.capsule(n.fabrics(n.DISCONNECT, bye)) + q.capsule(n.sqe(n.FLUSH, q.next_cid(), NS)))
        late = q.cid
        codes = {}
        while bye not in codes:
            p = q.wire.expect_pdu(n.RSP)
            codes[p.cid] = n.status_of(p.status)[0]
        expect(codes.get(late) == 8 and codes[bye] == n.OK, '%s', codes)


@book.row('F20', 'a host that comes back while its old controller lives, or under another name')
def f20(t):
    env = t.env
    with t.case('five controllers of one host at once: each is served, and data of one is seen by all'):
        hosts = [env.host(t) for _ in range(5)]
        expect(len({h.admin.cntlid for h in hosts}) == 5, 'one CNTLID twice')
        for i, h in enumerate(hosts):
            data = os.urandom(512)
            ends(h.io[0].write(i, data), n.OK)
            for other in hosts:
                expect(other.io[0].read(i, 512).data == data, 'another sees something else')
    with t.case('the old one has a write in the store when it is lost: the new one is not served before that has ended'):
        h = env.host(t)
        old, new = b'\1' * 512, b'\2' * 512
        h.io[0].submit(h.io[0].write_sqe(0, old, nsid=NS_SLOW, capsule=True), capsule=old)
        time.sleep(0.05)
        h.io[0].wire.reset()
        h.admin.wire.reset()
        again = env.host(t)
        ends(again.io[0].write(0, new, nsid=NS_SLOW, capsule=True), n.OK)
        time.sleep(0.5)
        expect(again.io[0].read(0, 512, nsid=NS_SLOW).data == new, 'the old write landed on the new one')
    with t.case('keep alive runs out with writes in the store: the same'):
        h = t.keep(hostpeer.Host(env.who(), kato=100))
        h.io[0].submit(h.io[0].write_sqe(0, old, nsid=NS_SLOW, capsule=True), capsule=old)
        h.admin.wire.expect_closed(5)
        again = env.host(t)
        ends(again.io[0].write(0, new, nsid=NS_SLOW, capsule=True), n.OK)
        time.sleep(0.5)
        expect(again.io[0].read(0, 512, nsid=NS_SLOW).data == new, 'the old write landed on the new one')
    for length in (223, 224, 255, 256):
        with t.case('a host NQN of %d bytes: %s' % (length, 'taken' if length < 224 else 'Connect Invalid Parameters')):
            nqn = 'nqn.2026-11.io.penstock:'.ljust(length, 'h')
            q = env.queue(t, who=env.who(hostnqn=nqn))
            if length < 224:
                granted(q)
            else:
                refused(q, n.CONNECT_PARAM)
    with t.case('bytes behind the terminator of a name mean nothing'):
        w = env.who()
        q = env.queue(t)
        answer = q.connect(data=n.connect_data(w.subnqn.encode() + b'\0' + b'\xff' * 100,
                                               w.hostnqn.encode() + b'\0junk\n', w.hostid))
        ends(answer, n.OK)


@book.row('F21', 'features of no sense')
def f21(t):
    with t.case('Number of Queues 65535, and when queues are connected'):
        a = t.env.host(t, queues=0).admin
        for dw11 in (0xFFFF, 0xFFFF0000, 0xFFFFFFFF):
            ends(a.set_feature(7, dw11), n.INVALID_FIELD)
        got = ends(a.set_feature(7, 0xFFFEFFFE), n.OK).result
        expect(0 < got & 0xFFFF < 0xFFFE, '0x%x was granted', got)
        ends(t.env.host(t).admin.set_feature(7, 0), n.SEQUENCE_ERROR)
    with t.case('every selection of every feature, into buffers of every size'):
        a = t.env.host(t).admin
        for fid in range(256):
            for sel in range(8):
                answer = a.get_feature(fid, sel)
                expect(answer.status in (n.OK, n.INVALID_FIELD, n.SGL_LENGTH, n.INVALID_NS), 'FID %d SEL %d: %s', fid,
                       sel, n.status_text(answer.status))
                expect(sel < 4 or answer.status == n.INVALID_FIELD, 'FID %d SEL %d was taken', fid, sel)
    with t.case('the host identifier: of 128 bits alone, and what Connect said'):
        a = t.env.host(t).admin
        for length, dw11, good in ((16, 1, True), (4096, 1, True), (8, 1, False), (8, 0, False), (16, 0, False),
                                   (0, 1, False)):
            where = n.sgl(n.SGL_TRANSPORT, length)
            cid = a.submit(n.sqe(n.GET_FEATURES, a.next_cid(), 0, where, struct.pack('<II', 0x81, dw11)), read=length)
            answer = a.wait(cid)
            expect((answer.status == n.OK) == good, 'length %d, EXHID %d: %s', length, dw11, n.status_text(answer.status))
            expect(not good or answer.data == a.who.hostid.ljust(length, b'\0'), 'another identifier')


@book.row('F22', 'ranges of Dataset Management whose numbers wrap')
def f22(t):
    with t.case('SLBA and length up to their ends: LBA Out of Range, nothing is deallocated'):
        q, old = t.env.host(t).io[0], os.urandom(4096)
        ends(q.write(0, old), n.OK)
        end = 1 << 64
        for slba, nlb in ((end - 1, 1), (end - 1, 0xFFFFFFFF), (end - 8, 8), (1 << 63, 0xFFFFFFFF), (1 << 55, 8),
                          (BLOCKS, 1), (BLOCKS - 1, 2), (0, 0xFFFFFFFF)):
            for where in (0, 255):
                ranges = [struct.pack('<IIQ', 0, 8, 0)] * 256
                ranges[where] = struct.pack('<IIQ', 0, nlb, slba)
                sqe = n.sqe(n.DSM, q.next_cid(), NS, n.sgl(n.SGL_TRANSPORT, 4096), struct.pack('<II', 255, 4))
                cid = q.submit(sqe, write=b''.join(ranges))
                ends(q.wait(cid), n.LBA_RANGE)
        expect(q.read(0, 4096).data == old, 'something was deallocated')
    with t.case('attributes that are advice only, and reserved ones: nothing happens'):
        q, old = t.env.host(t).io[0], os.urandom(4096)
        ends(q.write(0, old), n.OK)
        for attr in (0, 1, 2, 3):
            cid = q.submit(n.sqe(n.DSM, q.next_cid(), NS, n.sgl(n.SGL_TRANSPORT, 16), struct.pack('<II', 0, attr)),
                           write=struct.pack('<IIQ', 0xFFFFFFFF, 8, 0))
            ends(q.wait(cid), n.OK)
        expect(q.read(0, 4096).data == old, 'it was deallocated')


@book.row('F23', 'ICReq at its ends')
def f23(t):
    for name, how in (('MAXR2T 0', {'maxr2t': 0}), ('MAXR2T 2^32-1', {'maxr2t': 0xFFFFFFFF}), ('HPDA 31 with digests',
                                                                                               {'hpda': 31, 'dgst': 3}),
                      ('reserved flags', {'all_flags': 0xFF}), ('one digest', {'dgst': 2})):
        with t.case('%s: a session like any other, one R2T at a time for a command' % name):
            a = t.env.queue(t, **how)
            granted(a)
            a.enable()
            q = t.env.queue(t, 1, **how)
            granted(q, cntlid=a.cntlid)
            data = os.urandom(MDTS)
            ends(q.write(0, data), n.OK)
            expect(q.read(0, MDTS).data == data, 'differs')
    with t.case('an ICReq with garbage in its reserved bytes'):
        q = t.env.queue(t, ic=False)
        raw = bytearray(n.icreq())
        raw[16:] = os.urandom(112)
        q.wire.send(bytes(raw))
        q.initialised()
        granted(q)
    with t.case('a Connect that does not wait for the ICResp, with digests that are not agreed on yet: closed'):
        q = t.env.queue(t, ic=False)
        q.wire.send(n.icreq(dgst=3) + q.connect_bytes())
        q.wire.expect_pdu(n.ICRESP)
        # Its bytes are read as a header with a digest: that is wrong, whatever else is.
        q.wire.expect_pdu(n.C2H_TERM)
        q.wire.expect_closed()
