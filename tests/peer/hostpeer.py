# SPDX-License-Identifier: Apache-2.0
"""A raw host: queues that can be well behaved or not, controllers made of them, and a steady, verified load
in the background by which one sees whether others suffer."""
import collections
import multiprocessing
import os
import random
import struct
import time

import nvmetcp as n
import wire
from wire import Failed, expect

HOSTNQN = 'nqn.2014-08.org.nvmexpress:uuid:5e5e5e5e-0000-4000-8000-000000000001'
HOSTID = n.hostid_of('5e5e5e5e-0000-4000-8000-000000000001')

Answer = collections.namedtuple('Answer', 'status dnr result data sqhd by_flag')


class Who:
    """Whom to connect to, and as whom."""

    def __init__(self, addr, subnqn, hostnqn=HOSTNQN, hostid=HOSTID):
        self.addr, self.subnqn, self.hostnqn, self.hostid = addr, subnqn, hostnqn, hostid

    def but(self, **changes):
        who = Who(self.addr, self.subnqn, self.hostnqn, self.hostid)
        for name, value in changes.items():
            setattr(who, name, value)
        return who


class Queue:
    """One connection as a host sees it. It answers R2Ts of commands it sent with data by itself, unless told
    to leave them (`hold`)."""

    def __init__(self, who, qid=0, name=None, **dial):
        self.who, self.qid = who, qid
        self.wire = wire.dial(who.addr, name or 'q%d' % qid, **dial)
        self.tx = n.NO_DIGESTS  # what we add to what we send
        self.hpda = self.cpda = 0
        self.maxh2cdata = 4096
        self.cid = 0
        self.cntlid = None
        self.data = {}     # cid: what a write sends
        self.space = {}    # cid: where a read lands
        self.answers = {}  # cid: Answer, not yet asked for
        self.sqflow = True

    # What a case does with what it keeps.
    def close(self):
        self.wire.close()

    def told(self):
        return self.wire.told()

    # ---- coming up ----

    def initialise(self, hpda=0, dgst=0, maxr2t=0, within=wire.PATIENCE, **wrong):
        self.wire.send(n.icreq(hpda=hpda, dgst=dgst, maxr2t=maxr2t, **wrong))
        return self.initialised(hpda, within)

    def initialised(self, hpda=0, within=wire.PATIENCE):
        got = self.wire.expect_pdu(n.ICRESP, within, hlen=128, plen=128, pfv=0)
        self.hpda, self.cpda, self.maxh2cdata = hpda, got.cpda, got.maxh2cdata
        self.tx = self.wire.digests = got.dgst
        return got

    def connect_bytes(self, sqsize=31, kato=0, cattr=0, cntlid=0xFFFF, sqe=None, data=None, **wrong):
        self.sqflow = not cattr & 4
        w = self.who
        return self.capsule(sqe or n.connect_sqe(self.next_cid(), self.qid, sqsize, kato, cattr),
                            n.connect_data(w.subnqn, w.hostnqn, w.hostid, cntlid) if data is None else data, **wrong)

    def connect(self, within=wire.PATIENCE, **how):
        """The Answer, whatever it says."""
        self.wire.send(self.connect_bytes(**how))
        answer = self.wait(self.cid, within)
        if answer.status == n.OK:
            self.cntlid = answer.result & 0xFFFF
        return answer

    # ---- commands ----

    def next_cid(self):
        self.cid = self.cid % 0x7FFF + 1
        return self.cid

    def capsule(self, sqe, data=b'', **wrong):
        return n.cmd(sqe, data, digests=self.tx, pda=self.cpda, **wrong)

    def submit(self, sqe, capsule=b'', write=None, read=0):
        """Sends; returns the CID. capsule: data in it; write: data for R2Ts; read: bytes that may come."""
        cid = struct.unpack_from('<H', sqe, 2)[0]
        if write is not None:
            self.data[cid] = write
        if read:
            self.space[cid] = [bytearray(read), 0, 0]
        self.wire.send(self.capsule(sqe, capsule))
        return cid

    def write_sqe(self, slba, data, nsid=1, block=512, cid=None, capsule=False, **rw):
        kind = n.SGL_CAPSULE if capsule else n.SGL_TRANSPORT
        return n.sqe(n.WRITE, cid or self.next_cid(), nsid, n.sgl(kind, len(data)),
                     n.rw_cdw(slba, len(data) // block, **rw))

    def read_sqe(self, slba, length, nsid=1, block=512, cid=None, **rw):
        return n.sqe(n.READ, cid or self.next_cid(), nsid, n.sgl(n.SGL_TRANSPORT, length),
                     n.rw_cdw(slba, length // block, **rw))

    def command(self, sqe, within=wire.PATIENCE, **data):
        return self.wait(self.submit(sqe, **data), within)

    def write(self, slba, data, capsule=False, within=wire.PATIENCE, **where):
        sqe = self.write_sqe(slba, data, capsule=capsule, **where)
        return self.command(sqe, within, **({'capsule': data} if capsule else {'write': data}))

    def read(self, slba, length, within=wire.PATIENCE, **where):
        return self.command(self.read_sqe(slba, length, **where), within, read=length)

    # ---- answers ----

    def wait(self, cid, within=wire.PATIENCE):
        """The Answer to that command; others are kept."""
        until = time.monotonic() + within
        while cid not in self.answers:
            self.take(self.wire.pdu(max(0.0, until - time.monotonic())))
        return self.answers.pop(cid)

    def take(self, p):
        expect(p.hdgst_ok, 'header digest of %s', p)
        expect(p.ddgst_ok, 'data digest of %s', p)
        expect(p.kind not in n.HLEN or p.hlen == n.HLEN[p.kind], 'HLEN of %s', p)
        if p.kind == n.RSP:
            code, dnr = n.status_of(p.status)
            self._answered(p.cid, code, dnr, p.result, p.sqhd, False)
        elif p.kind == n.C2H_DATA:
            self._data(p)
        elif p.kind == n.R2T:
            expect(p.cccid in self.data, 'R2T for a command without data: %s', p)
            self.answer_r2t(p)
        elif p.kind == n.C2H_TERM:
            raise Failed('unexpected %s of %s' % (p, wire.hexed(p.data)))
        else:
            raise Failed('unexpected %s' % p)

    def _answered(self, cid, code, dnr, result, sqhd, by_flag):
        expect(cid not in self.answers, 'two answers to cid %d', cid)
        self.data.pop(cid, None)
        buf, got, _ = self.space.pop(cid, (b'', 0, 0))
        expect(code != n.OK or got == len(buf), 'cid %d succeeded with %d of %d bytes', cid, got, len(buf))
        self.answers[cid] = Answer(code, dnr, result, bytes(buf), sqhd, by_flag)

    def _data(self, p):
        expect(p.cccid in self.space, '%s for a command that reads nothing', p)
        buf = self.space[p.cccid]
        expect(len(p.data) == p.datal, '%s has %d bytes', p, len(p.data))
        expect(p.datao == buf[1], '%s: offset %d is next', p, buf[1])
        expect(p.datao + p.datal <= len(buf[0]), '%s: beyond %d bytes', p, len(buf[0]))
        unit = (self.hpda + 1) * 4
        expect(p.pdo % unit == 0 and p.pdo >= 24, '%s: PDO %d is no multiple of %d', p, p.pdo, unit)
        expect(not buf[2], '%s after LAST', p)
        buf[0][p.datao:p.datao + p.datal] = p.data
        buf[1] += p.datal
        buf[2] = p.flags & n.LAST
        if p.flags & n.SUCCESS:
            expect(p.flags & n.LAST, '%s: SUCCESS without LAST', p)
            expect(not self.sqflow, '%s: SUCCESS although SQ flow control is on', p)
            self._answered(p.cccid, n.OK, False, 0, 0, True)

    def answer_r2t(self, p, **wrong):
        data = self.data[p.cccid]
        expect(p.r2tl > 0 and p.r2to + p.r2tl <= len(data), '%s asks beyond %d bytes', p, len(data))
        at, end = p.r2to, p.r2to + p.r2tl
        while at < end:
            some = min(end - at, self.maxh2cdata)
            self.wire.send(self.h2c(p, at, data[at:at + some], last=at + some == end, **wrong))
            at += some

    def h2c(self, r2t, datao, data, **wrong):
        return n.h2c_data(wrong.pop('cccid', r2t.cccid), wrong.pop('ttag', r2t.ttag), datao, data,
                          digests=self.tx, pda=self.cpda, **wrong)

    def expect_r2t(self, cid, within=wire.PATIENCE):
        """The R2T for a command submitted without `write`."""
        return self.wire.expect_pdu(n.R2T, within, cccid=cid)

    def expect_term(self, fes, fei=None, within=wire.PATIENCE):
        """A C2HTermReq of that kind comes, and after it the end of the stream. Other PDUs may come before."""
        until = time.monotonic() + within
        while True:
            p = self.wire.pdu(max(0.0, until - time.monotonic()))
            if p.kind == n.C2H_TERM:
                break
            expect(p.kind in (n.RSP, n.C2H_DATA, n.R2T, n.ICRESP), 'C2HTermReq expected, got %s', p)
        want = 'fes=%d%s' % (fes, '' if fei is None else ' fei=%d' % fei)
        expect(p.fes == fes and (fei is None or p.fei == fei), '%s expected, got %s', want, p)
        expect(p.hlen == 24 and 24 <= p.plen <= 152 and p.plen == 24 + len(p.data), 'shape of %s', p)
        self.wire.expect_closed(within)
        return p

    # ---- admin commands ----

    def set_property(self, offset, value, within=wire.PATIENCE):
        cid = self.next_cid()
        return self.command(n.fabrics(n.PROPERTY_SET, cid, cdw10=struct.pack('<B3xIQ', 0, offset, value)), within)

    def get_property(self, offset, size=4):
        cid = self.next_cid()
        return self.command(n.fabrics(n.PROPERTY_GET, cid, cdw10=struct.pack('<B3xI', size == 8, offset)))

    def enable(self):
        expect(self.set_property(n.CC, n.CC_ENABLE).status == n.OK, 'CC.EN was refused')
        until = time.monotonic() + wire.PATIENCE
        while not self.get_property(n.CSTS).result & 1:
            expect(time.monotonic() < until, 'CSTS.RDY stays 0')
            time.sleep(0.01)

    def identify(self, cns, nsid=0, length=4096, **more):
        return self.command(n.sqe(n.IDENTIFY, self.next_cid(), nsid, n.sgl(n.SGL_TRANSPORT, length),
                                  struct.pack('<BxHHxB', cns, more.get('cntid', 0), more.get('cnsid', 0),
                                              more.get('csi', 0))), read=length)

    def log(self, lid, length, offset=0, nsid=0, sgl_length=None, **more):
        length, moved = max(length, 4), length if sgl_length is None else sgl_length
        return self.command(n.sqe(n.GET_LOG, self.next_cid(), nsid, n.sgl(n.SGL_TRANSPORT, moved),
                                  n.log_cdw(lid, length, offset, **more)), read=moved)

    def set_feature(self, fid, dw11=0, nsid=0):
        return self.command(n.sqe(n.SET_FEATURES, self.next_cid(), nsid, cdw10=struct.pack('<II', fid, dw11)))

    def get_feature(self, fid, sel=0, dw11=0):
        return self.command(n.sqe(n.GET_FEATURES, self.next_cid(), 0, cdw10=struct.pack('<II', fid | sel << 8, dw11)))

    def event_request(self):
        """The CID of an Asynchronous Event Request."""
        return self.submit(n.sqe(n.ASYNC_EVENT, self.next_cid()))

    def abort(self, cid, sqid=0):
        """Whether it says that it aborted the command."""
        answer = self.command(n.sqe(n.ABORT, self.next_cid(), cdw10=struct.pack('<HH', sqid, cid)))
        expect(answer.status == n.OK, 'Abort: %s', n.status_text(answer.status))
        return not answer.result & 1


class Host:
    """A controller: admin queue, enabled, and I/O queues."""

    def __init__(self, who, queues=1, dgst=0, hpda=0, maxr2t=0, kato=0, sqsize=31, io_sqsize=None, cattr=0, name='host'):
        self.who, self.how = who, dict(dgst=dgst, hpda=hpda, maxr2t=maxr2t)
        self.name, self.cattr = name, cattr
        self.io = []
        self.admin = Queue(who, 0, name + '.admin')
        try:
            self.admin.initialise(**self.how)
            answer = self.admin.connect(sqsize=sqsize, kato=kato, cattr=cattr)
            expect(answer.status == n.OK, 'Connect: %s', n.status_text(answer.status, answer.dnr))
            self.admin.enable()
            for qid in range(1, queues + 1):
                self.add_queue(qid, sqsize if io_sqsize is None else io_sqsize)
        except BaseException:
            self.close()
            raise

    def add_queue(self, qid, sqsize=31):
        q = Queue(self.who, qid, '%s.io%d' % (self.name, qid))
        self.io.append(q)
        q.initialise(**self.how)
        answer = q.connect(sqsize=sqsize, cntlid=self.admin.cntlid, cattr=self.cattr)
        expect(answer.status == n.OK, 'Connect of queue %d: %s', qid, n.status_text(answer.status, answer.dnr))
        return q

    def close(self):
        for q in self.io + [self.admin]:
            q.close()

    def told(self):
        return [line for q in [self.admin] + self.io[-2:] for line in q.told()[-5:]]


class Load:
    """Writes, reads back and compares, all the time, on one controller of its own: the well-behaved neighbour.
    Its blocks are its own. A process, so that it is not slowed by what the tests compute."""

    BLOCKS, SLOT = 4096, 64  # of 512 bytes: its area, and what one write covers at most
    FAULT_BYTES = 2000

    def __init__(self, who, first_lba, seed=1, pause=0.001):
        self.who, self.first, self.pause = who, first_lba, pause
        self.rng = random.Random(seed)
        self._rounds = multiprocessing.Value('L', 0, lock=False)
        self._slowest = multiprocessing.Value('d', 0.0, lock=False)
        self._fault = multiprocessing.Array('c', self.FAULT_BYTES, lock=False)
        self._stopping = multiprocessing.Value('b', 0, lock=False)
        self.process = multiprocessing.Process(target=self.run, daemon=True)

    def start(self):
        self.process.start()

    def run(self):
        """In the process."""
        try:
            host = Host(self.who, queues=2, cattr=4, name='load')
            while not self._stopping.value:
                began = time.monotonic()
                self.round(self.rng.choice(host.io))
                self._slowest.value = max(self._slowest.value, time.monotonic() - began)
                self._rounds.value += 1
                time.sleep(self.pause)
        except Exception as e:
            self._fault.value = repr(e).encode()[:self.FAULT_BYTES - 1]

    def round(self, q):
        blocks = self.rng.choice((1, 8, 8, 16, 64))
        slba = self.first + self.rng.randrange(self.BLOCKS // self.SLOT) * self.SLOT
        data = os.urandom(16) * (blocks * 32)
        capsule = len(data) <= 4096 and self.rng.random() < 0.5
        wrote = q.write(slba, data, capsule=capsule)
        expect(wrote.status == n.OK, 'Write: %s', n.status_text(wrote.status))
        got = q.read(slba, len(data))
        expect(got.status == n.OK, 'Read: %s', n.status_text(got.status))
        expect(got.data == data, 'blocks at %d read back differently', slba)

    @property
    def rounds(self):
        return self._rounds.value

    @property
    def slowest(self):
        """Seconds of the slowest round since it was forgotten."""
        return self._slowest.value

    def forget_slowest(self):
        self._slowest.value = 0.0

    @property
    def fault(self):
        return self._fault.value.decode()

    def more(self, rounds, within=wire.PATIENCE):
        """Waits for so many more rounds."""
        want, until = self.rounds + rounds, time.monotonic() + within
        while self.rounds < want:
            expect(not self.fault, 'the other host: %s', self.fault)
            expect(self.process.is_alive(), 'the other host ended')
            expect(time.monotonic() < until, 'the other host made %d of %d rounds in %.1f s',
                   self.rounds - want + rounds, rounds, within)
            time.sleep(0.002)

    def stop(self):
        self._stopping.value = 1
        self.process.join(wire.PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
