# SPDX-License-Identifier: Apache-2.0
"""A raw target: an NVMe/TCP controller over memory that behaves, except where a subclass says otherwise.

A test subclasses Target and overrides the one thing that is to go wrong; everything else works, so a host gets
as far as it must to meet the fault. One thread a connection; what happened is collected in `seen` and `faults`.
"""
import collections
import socket
import struct
import threading
import time
import uuid

import nvmetcp as n
import wire
from wire import Closed, Failed, Timeout, expect

SUBNQN = 'nqn.2026-11.io.penstock:peer'
BLOCK = 512


def ascii_field(text, length):
    return text.encode().ljust(length)[:length]


class Connection:
    """One queue as the target sees it. target: whose hooks are called."""

    def __init__(self, target, sock, number):
        self.target, self.number = target, number
        self.wire = wire.Wire(sock, 'conn%d' % number)
        self.qid = None
        self.tx = n.NO_DIGESTS
        self.hpda = 0
        self.sqflow = True
        self.sqhd = self.entries = 0
        self.ttag = 0
        self.pending = {}  # ttag: (command, data so far)
        self.icreq = None

    # ---- out ----

    def send(self, data, **pace):
        self.wire.send(data, **pace)

    def respond(self, cid, status=n.OK, result=0, dnr=False, **wrong):
        if self.entries:
            self.sqhd = (self.sqhd + 1) % self.entries
        self.send(self.rsp(cid, status, result, dnr, **wrong))

    def rsp(self, cid, status=n.OK, result=0, dnr=False, **wrong):
        return n.rsp(cid, status | dnr << 14, result, self.sqhd if self.sqflow else 0, digests=self.tx, **wrong)

    def c2h(self, cid, datao, data, **wrong):
        return n.c2h_data(cid, datao, data, digests=self.tx, pda=self.hpda, **wrong)

    def r2t(self, cid, ttag, r2to, r2tl, **wrong):
        return n.r2t(cid, ttag, r2to, r2tl, digests=self.tx, **wrong)

    def answer_data(self, c, data, chunk=131072):
        """Data to the host and the completion."""
        data = data[:c.sgl_len]
        for at in range(0, len(data), chunk):
            self.send(self.c2h(c.cid, at, data[at:at + chunk], last=at + chunk >= len(data)))
        self.respond(c.cid)

    def ask(self, c, r2to=0, length=None):
        """An R2T for a write; its data comes to on_h2c."""
        self.ttag = self.ttag % 0xFFFF + 1
        self.pending[self.ttag] = (c, bytearray())
        self.send(self.r2t(c.cid, self.ttag, r2to, c.sgl_len if length is None else length))
        return self.ttag

    # ---- in ----

    def run(self):
        try:
            self.initialise()
            while True:
                p = self.wire.pdu(within=3600)
                expect(p.hdgst_ok and p.ddgst_ok, 'digest of %s', p)
                expect(not p.data or p.pdo % ((self.target.cpda + 1) * 4) == 0 or p.kind == n.H2C_TERM,
                       '%s: PDO %d, CPDA is %d', p, p.pdo, self.target.cpda)
                if p.kind == n.CMD:
                    self.command(p)
                elif p.kind == n.H2C_DATA:
                    self.h2c(p)
                elif p.kind == n.H2C_TERM:
                    self.target.saw('term', self, p)
                    return
                else:
                    raise Failed('unexpected %s' % p)
        except Closed as e:
            self.target.saw('closed', self, e.how)
        finally:
            self.wire.close()

    def initialise(self):
        p = self.wire.expect_pdu(n.ICREQ, 3600, hlen=128, plen=128, pfv=0)
        self.icreq, self.hpda = p, p.hpda
        self.target.on_icreq(self, p)

    def command(self, p):
        t = self.target
        fctype = p.raw[12]
        t.commands.append((self.qid, p))
        if p.opc == n.FABRICS and fctype == n.CONNECT:
            self.qid, sqsize, cattr = struct.unpack_from('<HHB', p.raw, 50)
            self.entries, self.sqflow = sqsize + 1, not cattr & 4
            t.on_connect(self, p)
        elif p.opc == n.FABRICS:
            t.on_fabrics(self, p, fctype)
        elif self.qid == 0:
            t.on_admin(self, p)
        else:
            t.on_io(self, p)

    def h2c(self, p):
        expect(p.ttag in self.pending, '%s answers no R2T', p)
        c, data = self.pending[p.ttag]
        expect(p.cccid == c.cid, '%s is not for cid %d', p, c.cid)
        expect(p.datal == len(p.data) and p.datal <= self.target.maxh2cdata, 'length of %s', p)
        self.target.on_h2c(self, p, c, data)

    # ---- the end ----

    def expect_term(self, fes, fei=None, within=wire.PATIENCE):
        """An H2CTermReq of that kind comes; then it is ours to end the connection (3.5), by raising Closed. What was
        on its way may come before."""
        while True:
            try:
                p = self.wire.pdu(within)
            except Closed as e:
                raise Failed('the client left without an H2CTermReq (%s)' % e.how) from e
            if p.kind == n.H2C_TERM:
                break
            expect(p.kind in (n.CMD, n.H2C_DATA), 'H2CTermReq expected, got %s', p)
        self.target.saw('term', self, p)
        want = 'fes=%d%s' % (fes, '' if fei is None else ' fei=%d' % fei)
        expect(p.fes == fes and (fei is None or p.fei == fei), '%s expected, got %s', want, p)
        raise Closed('as expected')


class Target:
    """Over `size` bytes of memory with known contents. Hooks (on_...) are called in the connection's thread."""

    subnqn = SUBNQN
    maxh2cdata = 131072
    cpda = 0
    mdts = 5
    queues_granted = None  # as asked for
    in_capsule = 8192

    def __init__(self, port=0, size=1 << 20):
        self.memory = bytearray(struct.pack('<Q', 0x5EED) * (size // 8))
        for at in range(0, size, BLOCK):
            struct.pack_into('<Q', self.memory, at, at)
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind(('127.0.0.1', port))
        self.sock.listen(64)
        self.addr = self.sock.getsockname()
        self.uuid = uuid.uuid4().bytes
        self.lock = threading.Lock()
        self.connections, self.threads = [], []
        self.seen = []       # (what, connection, detail)
        self.faults = []     # what a connection did that it must not
        self.commands = collections.deque(maxlen=4096)  # (qid, PDU)
        self.associations = 0
        self.cc = 0
        self.stopping = False
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()

    def uri(self, query=''):
        return 'nvme+tcp://127.0.0.1:%d/%s%s' % (self.addr[1], self.subnqn, '?' + query if query else '')

    def _accept(self):
        while not self.stopping:
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            if not self.on_accept(sock):
                continue
            c = Connection(self, sock, len(self.connections) + 1)
            t = threading.Thread(target=self._serve, args=(c,), daemon=True)
            self.connections.append(c)
            t.start() # before close() may find it: what is not started cannot be joined
            self.threads.append(t)

    def _serve(self, c):
        try:
            c.run()
        except Timeout as e:
            self.faults.append('%s: %s' % (c.wire.name, e))
        except Exception as e:
            # A peer that goes away while it is being answered is no fault.
            if not isinstance(e, (Closed, OSError)):
                self.faults.append('%s: %r' % (c.wire.name, e))

    def saw(self, what, connection, detail=None):
        with self.lock:
            self.seen.append((what, connection, detail))

    def count(self, what):
        with self.lock:
            return sum(1 for name, _, _ in self.seen if name == what)

    def details(self, what):
        with self.lock:
            return [detail for name, _, detail in self.seen if name == what]

    def wait_for(self, what, count=1, within=wire.PATIENCE):
        until = time.monotonic() + within
        while self.count(what) < count:
            expect(not self.faults, '%s', '; '.join(self.faults))
            expect(time.monotonic() < until, '%r was seen %d of %d times in %.1f s', what, self.count(what), count,
                   within)
            time.sleep(0.005)

    def close(self):
        self.stopping = True
        self.sock.close()
        for c in self.connections:
            try:
                c.wire.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for t in self.threads:
            t.join(2)

    def told(self):
        return [line for c in self.connections[-4:] for line in c.wire.told()[-6:]]

    # ---- hooks: what a test overrides ----

    def on_accept(self, sock):
        return True

    def on_icreq(self, c, p):
        c.send(n.icresp(cpda=self.cpda, dgst=p.dgst & 3, maxh2cdata=self.maxh2cdata))
        c.tx = c.wire.digests = p.dgst & 3

    def on_connect(self, c, p):
        if c.qid == 0:
            self.associations += 1
        c.respond(p.cid, result=1)

    def on_fabrics(self, c, p, fctype):
        offset = p.cdw11
        if fctype == n.PROPERTY_SET:
            if offset == n.CC:
                self.cc = p.cdw12
            c.respond(p.cid)
        elif fctype == n.PROPERTY_GET:
            c.respond(p.cid, result=self.property(offset))
        elif fctype == n.DISCONNECT:
            self.saw('disconnect', c)
            c.respond(p.cid)
        else:
            c.respond(p.cid, n.INVALID_OPCODE, dnr=True)

    def property(self, offset):
        if offset == n.CAP:
            return 1023 | 1 << 16 | 20 << 24 | 1 << 37  # MQES, CQR, TO 10 s, NVM command set
        if offset == n.VS:
            return 0x20000
        if offset == n.CC:
            return self.cc
        if offset == n.CSTS:
            return (self.cc & 1) | (8 if self.cc >> 14 & 3 else 0)
        return 0

    def on_admin(self, c, p):
        if p.opc == n.IDENTIFY:
            self.on_identify(c, p, p.cdw10 & 0xFF)
        elif p.opc == n.SET_FEATURES:
            self.on_set_features(c, p, p.cdw10 & 0xFF)
        elif p.opc == n.GET_FEATURES:
            c.respond(p.cid, n.INVALID_FIELD, dnr=True)
        elif p.opc == n.ASYNC_EVENT:
            self.on_event_request(c, p)
        elif p.opc == n.KEEP_ALIVE:
            c.respond(p.cid)
        elif p.opc == n.GET_LOG:
            self.on_log(c, p, p.cdw10 & 0xFF)
        else:
            c.respond(p.cid, n.INVALID_OPCODE, dnr=True)

    def on_identify(self, c, p, cns):
        pages = {0: self.id_ns, 1: self.id_ctrl, 2: self.ns_list, 3: self.ns_descriptors}
        if cns not in pages:
            return c.respond(p.cid, n.INVALID_FIELD, dnr=True)
        c.answer_data(p, bytes(pages[cns](p.nsid).ljust(4096, b'\0')))

    def on_set_features(self, c, p, fid):
        if fid == 7:
            asked = min(p.cdw11 & 0xFFFF, p.cdw11 >> 16)
            given = asked if self.queues_granted is None else self.queues_granted
            return c.respond(p.cid, result=given | given << 16)
        c.respond(p.cid)

    def on_event_request(self, c, p):
        self.saw('event request', c, p)

    def on_log(self, c, p, lid):
        c.respond(p.cid, n.BAD_LOG_PAGE, dnr=True)

    def on_io(self, c, p):
        if p.opc == n.READ:
            self.on_read(c, p)
        elif p.opc == n.WRITE:
            self.on_write(c, p)
        elif p.opc == n.FLUSH:
            c.respond(p.cid)
        else:
            c.respond(p.cid, n.INVALID_OPCODE, dnr=True)

    def on_read(self, c, p):
        data = self.blocks(p)
        if c.sqflow:
            c.answer_data(p, data)
        else:
            c.send(c.c2h(p.cid, 0, data, success=True))

    def on_write(self, c, p):
        if p.sgl_id == n.SGL_CAPSULE:
            self.store(p, p.data)
            c.respond(p.cid)
        else:
            c.ask(p)

    def on_h2c(self, c, p, write, data):
        expect(p.datao == len(data), '%s: offset %d is next', p, len(data))
        data += p.data
        expect(len(data) <= write.sgl_len, '%s: beyond %d bytes', p, write.sgl_len)
        expect(bool(p.flags & n.LAST) == (len(data) == write.sgl_len), 'LAST of %s', p)
        if len(data) == write.sgl_len:
            del c.pending[p.ttag]
            self.store(write, data)
            c.respond(write.cid)

    # ---- memory and pages ----

    def where(self, p):
        return (p.cdw10 | p.cdw11 << 32) * BLOCK, ((p.cdw12 & 0xFFFF) + 1) * BLOCK

    def blocks(self, p):
        at, length = self.where(p)
        expect(length == p.sgl_len, '%s: SGL for %d bytes', p, length)
        return bytes(self.memory[at:at + length])

    def store(self, p, data):
        at, length = self.where(p)
        expect(length == len(data), '%s: %d bytes of data', p, len(data))
        self.memory[at:at + length] = data

    def id_ctrl(self, nsid=0):
        b = bytearray(4096)
        struct.pack_into('<HH20s40s8s', b, 0, 0x1AF4, 0x1AF4, ascii_field('PEER0001', 20), ascii_field('Raw peer', 40),
                         ascii_field('1', 8))
        struct.pack_into('<BHI', b, 77, self.mdts, 1, 0x20000)  # MDTS, CNTLID, VER
        b[111] = 1                                              # CNTRLTYPE: I/O
        struct.pack_into('<BBBB', b, 258, 3, 3, 0, 0)           # ACL, AERL
        struct.pack_into('<H', b, 320, 10)                      # KAS: 1 s
        struct.pack_into('<BBHI', b, 512, 0x66, 0x44, 128, 1)   # SQES, CQES, MAXCMD, NN
        struct.pack_into('<I', b, 536, 1 | 1 << 20)             # SGLS
        struct.pack_into('<256s', b, 768, self.subnqn.encode())
        struct.pack_into('<IIHBB', b, 1792, (64 + self.in_capsule) // 16, 1, 0, 0, 1)  # IOCCSZ, IORCSZ, ICDOFF, MSDBD
        return b

    def id_ns(self, nsid):
        b = bytearray(4096)
        if nsid == 1:
            blocks = len(self.memory) // BLOCK
            struct.pack_into('<QQQ', b, 0, blocks, blocks, blocks)
            struct.pack_into('<HBB', b, 128, 0, 9, 0)
        return b

    def ns_list(self, nsid):
        return struct.pack('<I', 1) if nsid < 1 else b''

    def ns_descriptors(self, nsid):
        return struct.pack('<BBH', 3, 16, 0) + self.uuid
