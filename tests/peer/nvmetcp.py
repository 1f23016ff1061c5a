# SPDX-License-Identifier: Apache-2.0
"""NVMe/TCP as bytes: PDUs, commands and completions, built and taken apart, right or wrong.

Everything that builds takes overrides, so that a wrong PDU is a right one with one thing changed; digests
are computed last, over what is really sent. What takes apart is lenient: it reports what is there and leaves
judging to the tests. Written from the specifications and not from src/, so that one misreading is not made
twice. Section numbers are those of the NVMe/TCP Transport Specification 1.0 unless they say otherwise.
"""
import struct
import uuid

# ---- PDUs (3.6.1) ------------------------------------------------------------------------------

ICREQ, ICRESP, H2C_TERM, C2H_TERM, CMD, RSP, H2C_DATA, C2H_DATA, R2T = 0, 1, 2, 3, 4, 5, 6, 7, 9
NAMES = {ICREQ: 'ICReq', ICRESP: 'ICResp', H2C_TERM: 'H2CTermReq', C2H_TERM: 'C2HTermReq', CMD: 'CapsuleCmd',
         RSP: 'CapsuleResp', H2C_DATA: 'H2CData', C2H_DATA: 'C2HData', R2T: 'R2T'}
HLEN = {ICREQ: 128, ICRESP: 128, H2C_TERM: 24, C2H_TERM: 24, CMD: 72, RSP: 24, H2C_DATA: 24, C2H_DATA: 24, R2T: 24}
HDGST, DDGST, LAST, SUCCESS = 1, 2, 4, 8
NO_DIGESTS, BOTH_DIGESTS = 0, HDGST | DDGST

# Fatal Error Status (3.6.2.6), and the offsets that a Fatal Error Information gives for FES 1.
FES_FIELD, FES_SEQUENCE, FES_HDGST, FES_RANGE, FES_LIMIT, FES_UNSUPPORTED = 1, 2, 3, 4, 5, 6
FES_NAMES = {FES_FIELD: 'Invalid PDU Header Field', FES_SEQUENCE: 'PDU Sequence Error',
             FES_HDGST: 'Header Digest Error', FES_RANGE: 'Data Transfer Out of Range',
             FES_LIMIT: 'Limit Exceeded', FES_UNSUPPORTED: 'Unsupported Parameter'}
AT_TYPE, AT_FLAGS, AT_HLEN, AT_PDO, AT_PLEN = 0, 1, 2, 3, 4
AT_PFV, AT_PDA, AT_DGST, AT_MAXH2CDATA, AT_CCCID, AT_TTAG, AT_LENGTH = 8, 10, 11, 12, 8, 10, 16
AT_RSP_CID = 20

# Fields behind the common header: name, offset, struct format.
_DATA_FIELDS = (('cccid', 8, 'H'), ('ttag', 10, 'H'), ('datao', 12, 'I'), ('datal', 16, 'I'))
_TERM_FIELDS = (('fes', 8, 'H'), ('fei', 10, 'I'))
FIELDS = {
    ICREQ: (('pfv', 8, 'H'), ('hpda', 10, 'B'), ('dgst', 11, 'B'), ('maxr2t', 12, 'I')),
    ICRESP: (('pfv', 8, 'H'), ('cpda', 10, 'B'), ('dgst', 11, 'B'), ('maxh2cdata', 12, 'I')),
    H2C_TERM: _TERM_FIELDS,
    C2H_TERM: _TERM_FIELDS,
    CMD: (('opc', 8, 'B'), ('cdw0_flags', 9, 'B'), ('cid', 10, 'H'), ('nsid', 12, 'I'), ('sgl_addr', 32, 'Q'),
          ('sgl_len', 40, 'I'), ('sgl_id', 47, 'B')) + tuple(('cdw%d' % n, 8 + 4 * n, 'I') for n in range(10, 16)),
    RSP: (('result', 8, 'Q'), ('sqhd', 16, 'H'), ('sqid', 18, 'H'), ('cid', 20, 'H'), ('status', 22, 'H')),
    H2C_DATA: _DATA_FIELDS,
    C2H_DATA: _DATA_FIELDS,
    R2T: (('cccid', 8, 'H'), ('ttag', 10, 'H'), ('r2to', 12, 'I'), ('r2tl', 16, 'I')),
}
# A PLEN beyond this is not waited for: nothing that the tests provoke is as long.
PLEN_SANE = 16 << 20


def _crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_CRC = _crc_table()


def crc32c(data):
    crc, table = 0xFFFFFFFF, _CRC
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def has_hdgst(kind, digests):
    return bool(digests & HDGST) and kind not in (ICREQ, ICRESP, H2C_TERM, C2H_TERM)


def has_ddgst(kind, digests, data):
    return bool(digests & DDGST) and bool(data) and kind in (CMD, H2C_DATA, C2H_DATA)


def pdu(kind, body, data=b'', flags=0, digests=NO_DIGESTS, pda=0, **wrong):
    """One PDU. body: the header behind the common header. flags: but for those of the digests. wrong: type,
    all_flags, hlen, pdo, plen as they shall stand there instead, hdgst or ddgst: what is XORed to that digest."""
    hd, dd = has_hdgst(kind, digests), has_ddgst(kind, digests, data)
    hlen = 8 + len(body)
    pdo = 0
    if data and kind not in (H2C_TERM, C2H_TERM):
        unit = (pda + 1) * 4
        pdo = -(-(hlen + 4 * hd) // unit) * unit
    plen = (pdo or hlen + 4 * hd) + len(data) + 4 * dd
    head = struct.pack('<BBBBI', wrong.get('type', kind), wrong.get('all_flags', flags | HDGST * hd | DDGST * dd),
                       wrong.get('hlen', hlen) & 0xFF, wrong.get('pdo', pdo) & 0xFF,
                       wrong.get('plen', plen) & 0xFFFFFFFF) + body
    out = head
    if hd:
        out += struct.pack('<I', crc32c(head) ^ wrong.get('hdgst', 0))
    if pdo:
        out = out.ljust(pdo, b'\0')
    out += data
    if dd:
        out += struct.pack('<I', crc32c(data) ^ wrong.get('ddgst', 0))
    return out


def icreq(pfv=0, hpda=0, dgst=0, maxr2t=0, **wrong):
    return pdu(ICREQ, struct.pack('<HBBI', pfv, hpda, dgst, maxr2t).ljust(120, b'\0'), **wrong)


def icresp(pfv=0, cpda=0, dgst=0, maxh2cdata=131072, **wrong):
    return pdu(ICRESP, struct.pack('<HBBI', pfv, cpda, dgst, maxh2cdata).ljust(120, b'\0'), **wrong)


def term(kind, fes, fei=0, header=b'', **wrong):
    return pdu(kind, struct.pack('<HI10x', fes, fei), data=header, **wrong)


def cmd(sqe, data=b'', **more):
    return pdu(CMD, sqe, data, **more)


def rsp(cid, status=0, result=0, sqhd=0, **more):
    """status: SCT << 8 | SC, as the constants below."""
    return pdu(RSP, struct.pack('<QHHHH', result, sqhd, 0, cid, (status << 1) & 0xFFFF), **more)


def h2c_data(cccid, ttag, datao, data, last=True, datal=None, **more):
    body = struct.pack('<HHII4x', cccid, ttag, datao, len(data) if datal is None else datal)
    return pdu(H2C_DATA, body, data, LAST * last, **more)


def c2h_data(cccid, datao, data, last=True, success=False, datal=None, **more):
    body = struct.pack('<HHII4x', cccid, 0, datao, len(data) if datal is None else datal)
    return pdu(C2H_DATA, body, data, LAST * last | SUCCESS * success, **more)


def r2t(cccid, ttag, r2to, r2tl, **more):
    return pdu(R2T, struct.pack('<HHII4x', cccid, ttag, r2to, r2tl), **more)


class Malformed(Exception):
    """Bytes that cannot be cut into PDUs."""


class Pdu:
    """A PDU as received: kind, flags, hlen, pdo, plen, header, data, hdgst_ok, ddgst_ok, and by name the
    fields of its kind."""

    def __init__(self, raw, digests):
        self.kind, self.flags, self.hlen, self.pdo, self.plen = struct.unpack_from('<BBBBI', raw)
        self.raw = raw
        self.header = raw[:self.hlen]
        self.hdgst_ok = self.ddgst_ok = True
        at = self.hlen
        if has_hdgst(self.kind, digests):
            self.hdgst_ok = raw[at:at + 4] == struct.pack('<I', crc32c(self.header))
            at += 4
        if self.kind in (CMD, H2C_DATA, C2H_DATA) and self.plen > at:
            at = self.pdo
        self.data = raw[at:]
        if has_ddgst(self.kind, digests, self.data):
            self.data, digest = self.data[:-4], self.data[-4:]
            self.ddgst_ok = digest == struct.pack('<I', crc32c(self.data))
        for name, offset, form in FIELDS.get(self.kind, ()):
            if offset + struct.calcsize(form) <= len(raw):
                setattr(self, name, struct.unpack_from('<' + form, raw, offset)[0])

    def __str__(self):
        return describe(self)


def cut(buf, digests=NO_DIGESTS):
    """The first PDU of buf, or None while it is not whole."""
    if len(buf) < 8:
        return None
    plen = struct.unpack_from('<I', buf, 4)[0]
    if plen < 8 or plen > PLEN_SANE:
        raise Malformed('PLEN %d of a PDU of type 0x%02x' % (plen, buf[0]))
    return Pdu(bytes(buf[:plen]), digests) if len(buf) >= plen else None


# ---- commands (Base 2.0, NVM Command Set 1.0) --------------------------------------------------

FABRICS, PROPERTY_SET, CONNECT, PROPERTY_GET, DISCONNECT = 0x7F, 0x00, 0x01, 0x04, 0x08
GET_LOG, IDENTIFY, ABORT, SET_FEATURES, GET_FEATURES, ASYNC_EVENT, KEEP_ALIVE = 2, 6, 8, 9, 10, 12, 0x18
FLUSH, WRITE, READ, WRITE_UNCORRECTABLE, COMPARE, WRITE_ZEROES, DSM, VERIFY = 0, 1, 2, 4, 5, 8, 9, 0xC
FCTYPES = {PROPERTY_SET: 'PropertySet', CONNECT: 'Connect', PROPERTY_GET: 'PropertyGet', DISCONNECT: 'Disconnect',
           5: 'AuthenticationSend', 6: 'AuthenticationReceive'}
ADMIN_NAMES = {GET_LOG: 'GetLogPage', IDENTIFY: 'Identify', ABORT: 'Abort', SET_FEATURES: 'SetFeatures',
               GET_FEATURES: 'GetFeatures', ASYNC_EVENT: 'AsyncEventRequest', KEEP_ALIVE: 'KeepAlive'}
NVM_NAMES = {FLUSH: 'Flush', WRITE: 'Write', READ: 'Read', WRITE_UNCORRECTABLE: 'WriteUncorrectable',
             COMPARE: 'Compare', WRITE_ZEROES: 'WriteZeroes', DSM: 'DatasetManagement', VERIFY: 'Verify'}
DISCOVERY_NQN = 'nqn.2014-08.org.nvmexpress.discovery'
ALL_NS = 0xFFFFFFFF
CAP, VS, CC, CSTS = 0, 8, 0x14, 0x1C
CC_ENABLE = 0x460001  # IOCQES 4, IOSQES 6, EN
SGL_TRANSPORT, SGL_CAPSULE = 0x5A, 0x01
PSDT_SGL = 0x40


def sgl(kind, length, addr=0):
    """kind: SGL_TRANSPORT or SGL_CAPSULE (3.3.2.2), or any other descriptor type."""
    return struct.pack('<QI3xB', addr, length & 0xFFFFFFFF, kind)


NO_DATA = sgl(SGL_TRANSPORT, 0)


def sqe(opc, cid, nsid=0, data=NO_DATA, cdw10=b'', flags=PSDT_SGL):
    """A submission queue entry. cdw10: its bytes from dword 10 on."""
    return struct.pack('<BBHI16x', opc, flags, cid & 0xFFFF, nsid) + data + cdw10.ljust(24, b'\0')


def fabrics(fctype, cid, data=NO_DATA, cdw10=b'', flags=PSDT_SGL):
    return struct.pack('<BBHB19x', FABRICS, flags, cid & 0xFFFF, fctype) + data + cdw10.ljust(24, b'\0')


def connect_sqe(cid, qid=0, sqsize=31, kato=0, cattr=0, recfmt=0, data=None):
    return fabrics(CONNECT, cid, sgl(SGL_CAPSULE, 1024) if data is None else data,
                   struct.pack('<HHHBBI', recfmt, qid, sqsize, cattr, 0, kato))


def nqn_field(nqn):
    """Bytes of the caller's own are taken as they are."""
    return (nqn if isinstance(nqn, bytes) else nqn.encode()).ljust(256, b'\0')[:256]


def connect_data(subnqn, hostnqn, hostid, cntlid=0xFFFF):
    return (hostid + struct.pack('<H', cntlid) + bytes(238) + nqn_field(subnqn) + nqn_field(hostnqn) + bytes(256))


def rw_cdw(slba, nlb, fua=False, prinfo=0, dtype=0):
    """nlb: as people count, from one."""
    return struct.pack('<QHBB', slba & 0xFFFFFFFFFFFFFFFF, (nlb - 1) & 0xFFFF, dtype << 4, prinfo << 2 | fua << 6)


def log_cdw(lid, length, offset=0, rae=False, lsp=0, lsi=0, flags=0):
    numd = length // 4 - 1
    return struct.pack('<BBHHHQI', lid, lsp | rae << 7, numd & 0xFFFF, numd >> 16 & 0xFFFF, lsi,
                       offset & 0xFFFFFFFFFFFFFFFF, flags)


def hostid_of(text):
    return uuid.UUID(text).bytes


# ---- statuses: SCT << 8 | SC -------------------------------------------------------------------

OK, INVALID_OPCODE, INVALID_FIELD, CID_CONFLICT, TRANSFER_ERROR = 0, 1, 2, 3, 4
INTERNAL_ERROR, ABORT_REQUESTED, FAILED_FUSED, MISSING_FUSED = 6, 7, 9, 0xA
INVALID_NS, SEQUENCE_ERROR, SGL_LENGTH, SGL_TYPE, SGL_OFFSET = 0xB, 0xC, 0xF, 0x11, 0x16
WRITE_PROTECTED, INTERRUPTED, TRANSIENT_TRANSPORT, LBA_RANGE, CAPACITY = 0x20, 0x21, 0x22, 0x80, 0x81
EVENT_LIMIT, BAD_LOG_PAGE, NOT_SAVEABLE, NOT_CHANGEABLE, NOT_PER_NS = 0x105, 0x109, 0x10D, 0x10E, 0x10F
CONNECT_FORMAT, CONNECT_BUSY, CONNECT_PARAM, CONNECT_RESTART, CONNECT_HOST = 0x180, 0x181, 0x182, 0x183, 0x184
WRITE_FAULT, READ_ERROR, COMPARE_FAILURE = 0x280, 0x281, 0x285
STATUS_NAMES = {
    OK: 'Success', INVALID_OPCODE: 'Invalid Command Opcode', INVALID_FIELD: 'Invalid Field in Command',
    CID_CONFLICT: 'Command ID Conflict', TRANSFER_ERROR: 'Data Transfer Error', INTERNAL_ERROR: 'Internal Error',
    ABORT_REQUESTED: 'Command Abort Requested', FAILED_FUSED: 'Aborted due to Failed Fused Command',
    MISSING_FUSED: 'Aborted due to Missing Fused Command', INVALID_NS: 'Invalid Namespace or Format',
    SEQUENCE_ERROR: 'Command Sequence Error', SGL_LENGTH: 'Data SGL Length Invalid',
    SGL_TYPE: 'SGL Descriptor Type Invalid', SGL_OFFSET: 'SGL Offset Invalid',
    WRITE_PROTECTED: 'Namespace is Write Protected', INTERRUPTED: 'Command Interrupted',
    TRANSIENT_TRANSPORT: 'Transient Transport Error', LBA_RANGE: 'LBA Out of Range', CAPACITY: 'Capacity Exceeded',
    EVENT_LIMIT: 'Asynchronous Event Request Limit Exceeded', BAD_LOG_PAGE: 'Invalid Log Page',
    NOT_SAVEABLE: 'Feature Identifier Not Saveable', NOT_CHANGEABLE: 'Feature Not Changeable',
    NOT_PER_NS: 'Feature Not Namespace Specific', CONNECT_FORMAT: 'Connect Incompatible Format',
    CONNECT_BUSY: 'Connect Controller Busy', CONNECT_PARAM: 'Connect Invalid Parameters',
    CONNECT_RESTART: 'Connect Restart Discovery', CONNECT_HOST: 'Connect Invalid Host', WRITE_FAULT: 'Write Fault',
    READ_ERROR: 'Unrecovered Read Error', COMPARE_FAILURE: 'Compare Failure'}


def status_of(field):
    """(SCT << 8 | SC, Do Not Retry) of the status field of a completion (Base 2.0, 3.3.3.2.1)."""
    return field >> 1 & 0x7FF, bool(field >> 15)


def status_text(code, dnr=False):
    return '%s (0x%03x)%s' % (STATUS_NAMES.get(code, 'status'), code, ', Do Not Retry' if dnr else '')


# ---- one line of text --------------------------------------------------------------------------

def _flag_names(flags):
    names = [n for bit, n in ((HDGST, 'HDGST'), (DDGST, 'DDGST'), (LAST, 'LAST'), (SUCCESS, 'SUCCESS')) if flags & bit]
    return ' ' + '|'.join(names + (['0x%02x' % (flags & 0xF0)] if flags & 0xF0 else [])) if flags else ''


def command_name(opc, fctype, admin=None):
    """admin: whether it was sent on an admin queue; None: not known, then both names are given."""
    if opc == FABRICS:
        return FCTYPES.get(fctype, 'Fabrics(0x%02x)' % fctype)
    names = [table[opc] for known, table in ((admin is not False, ADMIN_NAMES), (admin is not True, NVM_NAMES))
             if known and opc in table]
    return '/'.join(names) or 'opcode(0x%02x)' % opc


def _describe_cmd(p, admin):
    text = '%s cid=%d' % (command_name(p.opc, p.raw[12], admin), p.cid)
    if p.opc != FABRICS:
        text += ' nsid=%d' % p.nsid
    elif p.raw[12] == CONNECT:
        text += ' qid=%d sqsize=%d kato=%d' % struct.unpack_from('<HHxxI', p.raw, 50)
    elif p.raw[12] in (PROPERTY_GET, PROPERTY_SET):
        text += ' offset=0x%x' % p.cdw11
    if p.opc in (READ, WRITE, COMPARE, VERIFY, WRITE_ZEROES) and not admin:
        text += ' slba=%d nlb=%d' % (p.cdw10 | p.cdw11 << 32, (p.cdw12 & 0xFFFF) + 1)
    if p.sgl_len or p.sgl_id not in (SGL_TRANSPORT, SGL_CAPSULE):
        where = {SGL_TRANSPORT: 'transport', SGL_CAPSULE: 'capsule'}.get(p.sgl_id, '0x%02x' % p.sgl_id)
        text += ' sgl=%s:%d' % (where, p.sgl_len)
    if p.cdw0_flags != PSDT_SGL:
        text += ' flags=0x%02x' % p.cdw0_flags
    return text


def describe(p, admin=None):
    """One line: name, what the fields say, what is odd."""
    text = NAMES.get(p.kind, 'type 0x%02x' % p.kind) + _flag_names(p.flags)
    if p.kind == CMD and len(p.raw) >= 72:
        text += ' ' + _describe_cmd(p, admin)
    elif p.kind == RSP and len(p.raw) >= 24:
        code, dnr = status_of(p.status)
        text += ' cid=%d sqhd=%d %s%s' % (p.cid, p.sqhd, status_text(code, dnr),
                                          ' result=0x%x' % p.result if p.result else '')
    elif p.kind in (H2C_TERM, C2H_TERM) and len(p.raw) >= 24:
        text += ' fes=%d (%s) fei=%d' % (p.fes, FES_NAMES.get(p.fes, 'reserved'), p.fei)
    else:
        for name, offset, form in FIELDS.get(p.kind, ()):
            if hasattr(p, name):
                text += ' %s=%d' % (name, getattr(p, name))
    if p.data and p.kind not in (H2C_DATA, C2H_DATA):
        text += ' data=%d' % len(p.data)
    if p.kind in HLEN and p.hlen != HLEN[p.kind]:
        text += ' HLEN=%d' % p.hlen
    return text + ('' if p.hdgst_ok else ' BAD-HDGST') + ('' if p.ddgst_ok else ' BAD-DDGST')
