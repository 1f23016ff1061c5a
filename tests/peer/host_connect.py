# SPDX-License-Identifier: Apache-2.0
"""Rows about Connect, identity and access, and about discovery.

Offsets of Connect Invalid Parameters (Base 2.0, 6.3): dword 0 of the completion has the offset of the field
(IPO), and in bit 16 (IATTR) whether it is one of the data rather than of the command."""
import os
import resource
import struct
import subprocess
import time

import hostpeer
import nvmetcp as n
import rows
import serving
import wire
from host_env import BAD_NQN, DEPTH, ELSEWHERE, OTHER_ID, OTHER_NQN, PRIVATE
from wire import expect

book = rows.Book()

IN_DATA = 1 << 16
AT_QID, AT_SQSIZE = 42, 44
AT_CNTLID, AT_SUBNQN, AT_HOSTNQN = 16 | IN_DATA, 256 | IN_DATA, 512 | IN_DATA
LOG_DISCOVERY = 0x70


def refused(q, status, result=None, answer=None, **how):
    """Connect ends with that status and dword 0, and then the connection ends."""
    answer = answer or q.connect(**how)
    expect(answer.status == status and answer.dnr, '%s expected, got %s', n.status_text(status, True),
           n.status_text(answer.status, answer.dnr))
    expect(result is None or answer.result == result, 'dword 0 is 0x%x, not 0x%x', answer.result, result or 0)
    q.wire.expect_closed()


def granted(q, **how):
    answer = q.connect(**how)
    expect(answer.status == n.OK, 'Connect: %s', n.status_text(answer.status, answer.dnr))


@book.row('T005', 'NQNs that are not terminated')
def t005(t):
    env = t.env
    for name, changes, where in (('subsystem', {'subnqn': b'A' * 256}, AT_SUBNQN),
                                 ('host', {'hostnqn': b'A' * 256}, AT_HOSTNQN),
                                 ('both', {'subnqn': b'A' * 256, 'hostnqn': b'A' * 256}, AT_SUBNQN),
                                 ('a host of 224 bytes', {'hostnqn': b'nqn.2014-08.org:' + b'A' * 208}, AT_HOSTNQN)):
        with t.case('%s: Connect Invalid Parameters at that field' % name):
            refused(env.queue(t, who=env.who(**changes)), n.CONNECT_PARAM, where)
    with t.case('a name that would forge a line of the log'):
        q = env.queue(t, who=env.who(hostnqn=b'nqn.2014-08.org:\nlevel=error event=forged x="'))
        refused(q, n.CONNECT_PARAM, AT_HOSTNQN)
    with t.case('the log shows nothing beyond the field'), env.fresh(t) as target:
        for data in (b'A' * 256, b'\nlevel=error event=forged'):
            q = env.queue(t, who=target.who(hostnqn=data, subnqn=b'A' * 256))
            q.connect()
            q.wire.expect_closed()
        said = ''.join(target.wait_log('connect_refused'))
        expect('AAAA' not in said and 'forged' not in ''.join(target.log()), '%s', said)


def pressed(pid, more):
    """A limit on the address space of the process, a little above what it has."""
    with open('/proc/%d/statm' % pid, encoding='ascii') as f:
        now = int(f.read().split()[0]) * serving.PAGE
    _, hard = resource.prlimit(pid, resource.RLIMIT_AS)
    resource.prlimit(pid, resource.RLIMIT_AS, (now + more, hard))


@book.row('T008', 'memory runs out at Connect')
def t008(t):
    env = t.env
    if env.sanitized:
        t.skip('Connect fails with a status', 'a sanitizer needs its address space')
        return
    # With one arena memory is asked for in small steps, so the limit is soon met.
    with env.fresh(t, {'MALLOC_ARENA_MAX': '1'}, limits={'first_command': '60s', 'controllers_per_host': 1000}) as target:
        with t.case('Connect fails or the connection ends; the target lives; then there is room again'):
            h = t.keep(hostpeer.Host(target.who()))
            pressed(target.pid, 4 << 20)
            failed, queues = 0, []
            for _ in range(200):
                q = hostpeer.Queue(target.who(), 0)
                queues.append(q)
                try:
                    q.initialise()
                    answer = q.connect(sqsize=127)
                    if answer.status != n.OK:
                        # It may be tried again, so without Do Not Retry.
                        expect(answer.status == n.INTERNAL_ERROR and not answer.dnr,
                               n.status_text(answer.status, answer.dnr))
                        failed += 1
                except wire.Closed:
                    failed += 1
            expect(failed > 0, 'none of 200 failed')
            expect(h.io[0].write(0, os.urandom(4096)).status == n.OK, 'the host that was there suffers')
            for q in queues:
                q.close()
            until = time.monotonic() + wire.PATIENCE
            while True:
                q = t.keep(hostpeer.Queue(target.who(), 0))
                try:
                    q.initialise()
                    if q.connect().status == n.OK:
                        break
                except wire.Closed:
                    pass
                expect(time.monotonic() < until, 'no room although the others are gone')
                time.sleep(0.05)
            h.close()
            q.close()


@book.row('C001', 'SQSIZE')
def c001(t):
    env = t.env
    # DEPTH entries at most, and SQSIZE counts from zero.
    for qid in (0, 1):
        for sqsize in (0, DEPTH, 1023, 65535):
            with t.case('%d on queue %d: Connect Invalid Parameters at SQSIZE' % (sqsize, qid)):
                h = env.host(t, queues=0)
                refused(env.queue(t, qid), n.CONNECT_PARAM, AT_SQSIZE, sqsize=sqsize,
                        cntlid=h.admin.cntlid if qid else 0xFFFF)
        for sqsize in (1, 31, DEPTH - 1):
            with t.case('%d on queue %d is granted' % (sqsize, qid)):
                h = env.host(t, queues=0)
                granted(env.queue(t, qid), sqsize=sqsize, cntlid=h.admin.cntlid if qid else 0xFFFF)
    for qid in (65, 1000, 65535):
        with t.case('queue %d: Connect Invalid Parameters at QID' % qid):
            refused(env.queue(t, qid), n.CONNECT_PARAM, AT_QID, cntlid=env.host(t, queues=0).admin.cntlid)
    with t.case('MQES says so too'):
        expect(env.host(t, queues=0).admin.get_property(n.CAP, 8).result & 0xFFFF == DEPTH - 1, 'another MQES')


@book.row('C002', 'a QID that is used again')
def c002(t):
    env = t.env
    with t.case('300 times within 100 us of its end, half of them by a reset; then I/O'):
        h = env.host(t)
        q = h.io[0]
        for i in range(300):
            (q.wire.reset if i % 2 else q.close)()
            q = t.keep(hostpeer.Queue(env.who(), 1))
            q.initialise()
            granted(q, cntlid=h.admin.cntlid)
        data = os.urandom(8192)
        expect(q.write(0, data).status == n.OK and q.read(0, 8192).data == data, 'I/O on the last one')
    with t.case('while it is in use: a short wait, then Command Sequence Error; the queue that is there stays'):
        # So does Linux; SPDK says Connect Invalid Parameters.
        h = env.host(t)
        began = time.monotonic()
        refused(env.queue(t, 1), n.SEQUENCE_ERROR, cntlid=h.admin.cntlid)
        expect(0.3 < time.monotonic() - began < 2.0, 'after %.2f s', time.monotonic() - began)
        expect(h.io[0].write(0, bytes(512)).status == n.OK, 'the queue that was there')
    with t.case('while it is in use, and then it is not'):
        h = env.host(t)
        q = env.queue(t, 1)
        q.wire.send(q.connect_bytes(cntlid=h.admin.cntlid))
        q.wire.silent(0.1)
        h.io[0].close()
        expect(q.wait(q.cid).status == n.OK, 'Connect')
        expect(q.write(0, bytes(8192)).status == n.OK, 'I/O after it')
    with t.case('and the host goes away while its Connect waits'):
        h = env.host(t)
        q = env.queue(t, 1)
        q.wire.send(q.connect_bytes(cntlid=h.admin.cntlid))
        q.wire.reset()
        h.admin.wire.reset()


@book.row('C003', 'out of order: before Connect, for a controller that is gone or is another\'s')
def c003(t):
    env = t.env
    for name, sqe in (('Identify', lambda q: n.sqe(n.IDENTIFY, q.next_cid(), 0, n.sgl(n.SGL_TRANSPORT, 4096), b'\1')),
                      ('Read', lambda q: q.read_sqe(0, 512)),
                      ('Property Get', lambda q: n.fabrics(n.PROPERTY_GET, q.next_cid())),
                      ('Disconnect', lambda q: n.fabrics(n.DISCONNECT, q.next_cid())),
                      ('a Write with data', lambda q: q.write_sqe(0, bytes(512)))):
        with t.case('%s before Connect: Command Sequence Error' % name):
            q = env.queue(t)
            q.wire.send(q.capsule(sqe(q)))
            answer = q.wait(q.cid)
            expect(answer.status == n.SEQUENCE_ERROR and answer.dnr, n.status_text(answer.status, answer.dnr))
            granted(q)
    with t.case('Connect twice on one connection: Command Sequence Error'):
        q = env.queue(t)
        granted(q)
        expect(q.connect().status == n.SEQUENCE_ERROR, 'it was not refused')
    for name, cntlid in (('that never was', 0xFFEF), ('0xFFFF', 0xFFFF), ('0', 0)):
        with t.case('an I/O queue of controller %s: Connect Invalid Parameters at CNTLID' % name):
            refused(env.queue(t, 1), n.CONNECT_PARAM, AT_CNTLID, cntlid=cntlid)
    with t.case('an I/O queue of a controller that is gone: Connect Invalid Parameters at CNTLID'):
        h = env.host(t)
        h.admin.wire.reset()
        h.io[0].wire.expect_closed()
        refused(env.queue(t, 1), n.CONNECT_PARAM, AT_CNTLID, cntlid=h.admin.cntlid)
    for name, changes in (('of another host NQN', {'hostnqn': OTHER_NQN}), ('of another host ID', {'hostid': OTHER_ID}),
                          ('of another subsystem', {'subnqn': PRIVATE, 'hostnqn': OTHER_NQN})):
        with t.case('an I/O queue of a controller %s: Connect Invalid Parameters at CNTLID' % name):
            h = env.host(t)
            refused(env.queue(t, 1, who=env.who(**changes)), n.CONNECT_PARAM, AT_CNTLID, cntlid=h.admin.cntlid)
    with t.case('an I/O queue before CC.EN: Command Sequence Error'):
        a = env.queue(t)
        granted(a)
        refused(env.queue(t, 1), n.SEQUENCE_ERROR, cntlid=a.cntlid)
    with t.case('I/O after CC.EN went to 0'):
        h = env.host(t)
        expect(h.admin.set_property(n.CC, 0).status == n.OK, 'CC')
        h.io[0].wire.expect_closed()
    with t.case('admin commands before CC.EN: Command Sequence Error'):
        a = env.queue(t)
        granted(a)
        expect(a.identify(1).status == n.SEQUENCE_ERROR, 'Identify was served')
    with t.case('a record format that is not 0: Connect Incompatible Format'):
        q = env.queue(t)
        refused(q, n.CONNECT_FORMAT, sqe=n.connect_sqe(q.next_cid(), recfmt=1))
    for length in (0, 512, 1020, 1028, 4096):
        with t.case('Connect with %d bytes of data: Data SGL Length Invalid' % length):
            q = env.queue(t)
            sqe = n.connect_sqe(q.next_cid(), data=n.sgl(n.SGL_CAPSULE, length))
            q.wire.send(q.capsule(sqe, bytes(length)))
            expect(q.wait(q.cid).status == n.SGL_LENGTH, 'another status')
    with t.case('Connect whose data comes by R2T'):
        q = env.queue(t)
        w = q.who
        q.submit(n.connect_sqe(q.next_cid(), data=n.sgl(n.SGL_TRANSPORT, 1024)),
                 write=n.connect_data(w.subnqn, w.hostnqn, w.hostid))
        expect(q.wait(q.cid).status in (n.OK, n.SGL_TYPE, n.INVALID_FIELD), 'another status')


@book.row('C005', 'a controller ID that is asked for; IDs run out')
def c005(t):
    env = t.env
    for cntlid in (0, 1, 0xFFEF, 0xFFF0, 0xFFFE):
        with t.case('CNTLID 0x%x on an admin queue: Connect Invalid Parameters at CNTLID' % cntlid):
            refused(env.queue(t), n.CONNECT_PARAM, AT_CNTLID, cntlid=cntlid)
    with env.fresh(t, limits={'controllers': 3}) as target:
        with t.case('as many controllers as there may be, then Connect Controller Busy, then room again'):
            for _ in range(3):
                hosts = [t.keep(hostpeer.Host(target.who())) for _ in range(3)]
                ids = {h.admin.cntlid for h in hosts}
                expect(len(ids) == 3 and all(0 < i < 0xFFF0 for i in ids), 'CNTLIDs %s', ids)
                q = env.queue(t, who=target.who())
                answer = q.connect()
                # Retrying may help: not with Do Not Retry.
                expect(answer.status == n.CONNECT_BUSY and not answer.dnr, n.status_text(answer.status, answer.dnr))
                q.wire.expect_closed()
                for h in hosts:
                    h.close()
                target.settle(target.idle)
        with t.case('200 controllers, one after the other'):
            for _ in range(200):
                hostpeer.Host(target.who(), queues=0).close()
                target.settle(target.idle)
    with env.fresh(t, limits={'controllers_per_host': 2}) as target:
        with t.case('as many as one host may have; another host still finds room'):
            hosts = [t.keep(hostpeer.Host(target.who())) for _ in range(2)]
            expect(env.queue(t, who=target.who()).connect().status == n.CONNECT_BUSY, 'it was not refused')
            hosts.append(t.keep(hostpeer.Host(target.who(hostnqn=OTHER_NQN, hostid=OTHER_ID))))
            for h in hosts:
                h.close()


def records(log):
    """(header, entries) of a discovery log page."""
    genctr, numrec, recfmt = struct.unpack_from('<QQH', log)
    entries = [log[1024 * (i + 1):1024 * (i + 2)] for i in range((len(log) - 1024) // 1024)]
    return (genctr, numrec, recfmt), entries


def text(field):
    return field.rstrip(b'\0').decode()


def discovery(env, t, listener=0, **changes):
    """An enabled discovery controller."""
    q = env.queue(t, who=env.who(nqn=n.DISCOVERY_NQN, listener=listener, **changes))
    granted(q)
    q.enable()
    return q


def read_log(q):
    numrec = struct.unpack_from('<Q', q.log(LOG_DISCOVERY, 1024).data, 8)[0]
    return records(q.log(LOG_DISCOVERY, 1024 * (numrec + 1)).data)


@book.row('C006', 'who may connect, and who sees what')
def c006(t):
    env = t.env
    with t.case('a host that is not named: Connect Invalid Host'):
        q = env.queue(t, who=env.who(nqn=PRIVATE))
        # SPDK and Linux say Connect Invalid Host as well (Base 2.0, 6.3).
        refused(q, n.CONNECT_HOST)
    with t.case('the host that is named'):
        granted(env.queue(t, who=env.who(nqn=PRIVATE, hostnqn=OTHER_NQN)))
    for name, near in (('a prefix of it', OTHER_NQN[:-1]), ('more than it', OTHER_NQN + 'x'), ('in capitals', OTHER_NQN.upper())):
        with t.case('%s: Connect Invalid Host' % name):
            q = env.queue(t, who=env.who(nqn=PRIVATE, hostnqn=near))
            answer = q.connect()
            expect(answer.status in (n.CONNECT_HOST, n.CONNECT_PARAM), n.status_text(answer.status))
    with t.case('the discovery log shows it to that host only'):
        for host, sees in ((BAD_NQN, False), (OTHER_NQN, True)):
            _, entries = read_log(discovery(env, t, hostnqn=host))
            names = [text(e[256:512]) for e in entries]
            expect((PRIVATE in names) == sees and serving.NQN in names, '%s sees %s', host, names)
    with t.case('a host named twice is an error that names it'):
        config = serving.serve_config()
        config['subsystems'][0]['allow'] = [OTHER_NQN, OTHER_NQN]
        fails_to_serve(config, 'twice', OTHER_NQN)
    env.reason(t, lambda who: refused(env.queue(t, who=who.but(subnqn=PRIVATE)), n.CONNECT_PARAM), 'connect_refused')


def fails_to_serve(config, *words, args=None):
    """serve ends with an error that has those words."""
    try:
        serving.Serving(config, args).clean_up()
    except wire.Failed as e:
        for word in words:
            expect(word in str(e), '"%s" is not in: %s', word, e)
        return
    raise wire.Failed('serve accepted it')


@book.row('C007', 'Connect through a listener that does not lead to the subsystem')
def c007(t):
    env = t.env
    with t.case('on the other port: Connect Invalid Parameters at SUBNQN'):
        refused(env.queue(t, who=env.who(listener=1)), n.CONNECT_PARAM, AT_SUBNQN)
        refused(env.queue(t, who=env.who(nqn=ELSEWHERE)), n.CONNECT_PARAM, AT_SUBNQN)
    with t.case('on its own port, and on the one that leads to all'):
        granted(env.queue(t, who=env.who(nqn=ELSEWHERE, listener=1)))
        granted(env.queue(t, who=env.who(nqn=ELSEWHERE, listener=2)))
    with t.case('an I/O queue through it: Connect Invalid Parameters at SUBNQN'):
        h = env.host(t)
        refused(env.queue(t, 1, who=env.who(listener=1)), n.CONNECT_PARAM, AT_SUBNQN, cntlid=h.admin.cntlid)
    with t.case('no such subsystem: Connect Invalid Parameters at SUBNQN'):
        refused(env.queue(t, who=env.who(nqn='nqn.2026-11.io.penstock:none')), n.CONNECT_PARAM, AT_SUBNQN)
    with t.case('the discovery log has each subsystem at its listeners only'):
        _, entries = read_log(discovery(env, t, listener=1))
        ports = {str(a[1]): i for i, a in enumerate(env.target.addrs)}
        seen = {(text(e[256:512]), ports[e[32:64].decode().rstrip(' \0')]) for e in entries}
        expect((serving.NQN, 1) not in seen and (ELSEWHERE, 0) not in seen, '%s', seen)
        expect({(serving.NQN, 0), (ELSEWHERE, 1), (ELSEWHERE, 2), (serving.NQN, 2)} <= seen, '%s', seen)


@book.row('C013', 'addresses, and ports that are none')
def c013(t):
    env = t.env
    with t.case('IPv6: a controller, I/O, and how the discovery log writes it'):
        q = env.host(t, who=env.who(listener=2)).io[0]
        expect(q.write(0, bytes(8192)).status == n.OK, 'I/O')
        _, entries = read_log(discovery(env, t, listener=2))
        mine = [e for e in entries if e[1] == 2]
        expect(mine and all(e[512:768].rstrip(b' \0') == b'::1' for e in mine), 'TRADDR of IPv6 entries')
    for listen in ('tcp://127.0.0.1:65536', 'tcp://127.0.0.1:-0', 'tcp://127.0.0.1:-1', 'tcp://127.0.0.1:4420x',
                   'tcp://127.0.0.1: 4420', 'tcp://127.0.0.1:', 'tcp://[::1:4420', 'tcp://300.0.0.1:4420',
                   'rdma://127.0.0.1:4420', 'tcp://[fe80::1%nosuchdevice]:4420'):
        with t.case('serve does not listen on %s, and says why' % listen):
            fails_to_serve(None, 'listen', args=['--listen', listen, 'memory:1M'])
    for uri in ('127.0.0.1:0', '127.0.0.1:65536', '127.0.0.1:-0', '127.0.0.1:4420x'):
        with t.case('a client does not connect to %s, and says why' % uri):
            if not client_there():
                t.skip('a client does not connect to %s' % uri, 'no client in this program')
                continue
            done = subprocess.run([serving.program(), 'info', 'nvme+tcp://%s/%s' % (uri, serving.NQN)],
                                  capture_output=True, check=False, timeout=20)
            expect(done.returncode in (1, 2) and b'port' in done.stderr, '%d: %s', done.returncode, done.stderr)


def client_there():
    return b'info' in subprocess.run([serving.program(), '--help'], capture_output=True, check=False).stdout


@book.row('C014', 'ASCII fields: padded as the standard says, without a NUL in the middle')
def c014(t):
    env = t.env
    with t.case('TRADDR and TRSVCID of the discovery log'):
        _, entries = read_log(discovery(env, t))
        for e in entries:
            for field in (e[512:768], e[32:64]):
                value = field.rstrip(b' ')
                expect(value and b'\0' not in value and b' ' not in value, 'field is %r', field[:40])
    with t.case('SN, MN and FR of Identify Controller'):
        page = env.host(t).admin.identify(1).data
        for at, length in ((4, 20), (24, 40), (64, 8)):
            field = page[at:at + length]
            expect(all(0x20 <= c < 0x7F for c in field) and field.strip(), 'field is %r', field)


@book.row('C015', 'the same address twice')
def c015(t):
    with t.case('is an error that names it'):
        config = serving.serve_config()
        # A port of its own for as long as it takes to see that it is free.
        with t.env.fresh(t) as other:
            port = other.addrs[0][1]
        config['listeners'] = [{'address': 'tcp://127.0.0.1:%d' % port}] * 2
        fails_to_serve(config, str(port))


@book.row('T009', 'Get Log Page: offsets far past the log, lengths that do not fit')
def t009(t):
    env = t.env
    with t.case('the discovery log: an offset past the end: Invalid Field in Command'):
        q = discovery(env, t)
        total = 1024 * (1 + read_log(q)[0][1])
        for offset in (total + 4, 0x100000, 0x7FFFFFFFFFFFFFFC, 0xFFFFFFFFFFFFFFFC):
            answer = q.log(LOG_DISCOVERY, 4096, offset)
            expect(answer.status == n.INVALID_FIELD and answer.dnr, 'offset 0x%x: %s', offset, n.status_text(answer.status))
    with t.case('an offset that is no multiple of 4: Invalid Field in Command'):
        q = discovery(env, t)
        for offset in (1, 2, 3, total - 1):
            expect(q.log(LOG_DISCOVERY, 64, offset).status == n.INVALID_FIELD, 'offset %d', offset)
    with t.case('across the end: what there is, then zeroes'):
        q = discovery(env, t)
        whole = q.log(LOG_DISCOVERY, total).data
        for offset in (total - 4, total - 1024, total):
            answer = q.log(LOG_DISCOVERY, 4096, offset)
            # At the very end there is nothing, which is either an error or zeroes.
            if offset == total and answer.status == n.INVALID_FIELD:
                continue
            expect(answer.status == n.OK, 'offset %d: %s', offset, n.status_text(answer.status))
            expect(answer.data == whole[offset:].ljust(4096, b'\0'), 'offset %d: other bytes', offset)
    with t.case('every piece of it is a piece of the whole'):
        q = discovery(env, t)
        for offset in range(0, total, 60):
            expect(q.log(LOG_DISCOVERY, 64, offset).data == whole[offset:offset + 64].ljust(64, b'\0'), 'at %d', offset)
    with t.case('a buffer shorter than NUMD says: Data SGL Length Invalid'):
        q = discovery(env, t)
        expect(q.log(LOG_DISCOVERY, 4096, sgl_length=1024).status == n.SGL_LENGTH, 'it was served')
    with t.case('every log page of an I/O controller, far past its end'):
        a = env.host(t).admin
        for lid in range(256):
            answer = a.log(lid, 4096, 0xFFFFFFFFFFFFF000)
            expect(answer.status in (n.INVALID_FIELD, n.BAD_LOG_PAGE), 'log 0x%02x: %s', lid, n.status_text(answer.status))


@book.row('D005', 'the header counts what is there')
def d005(t):
    env = t.env
    with t.case('read first and alone, then with all entries, by each listener'):
        for listener in range(3):
            q = discovery(env, t, listener=listener)
            (genctr, numrec, recfmt), entries = read_log(q)
            expect(recfmt == 0 and numrec == len(entries) > 0, 'NUMREC %d, %d entries', numrec, len(entries))
            expect(all(e[0] == 3 and e[256:512].strip(b'\0') for e in entries), 'an entry without transport or name')
            past = q.log(LOG_DISCOVERY, 1024 * (numrec + 2)).data
            expect(past[1024 * (numrec + 1):] == bytes(1024), 'something behind the last entry')
            expect(records(past)[0] == (genctr, numrec, recfmt), 'GENCTR changed on its own')
    with t.case('one entry says what is being read'):
        entries = read_log(discovery(env, t))[1]
        mine = [e for e in entries if e[2] == 3]
        expect(len(mine) == 1 and text(mine[0][256:512]) == n.DISCOVERY_NQN, '%d entries for this controller', len(mine))


@book.row('D004', 'many hosts that discover at once')
def d004(t):
    env = t.env
    with t.case('64 of them, each with its own view'):
        queues = []
        for i in range(64):
            q = env.queue(t, who=env.who(nqn=n.DISCOVERY_NQN, hostnqn=OTHER_NQN if i % 2 else BAD_NQN))
            q.wire.send(q.connect_bytes())
            queues.append(q)
        for q in queues:
            expect(q.wait(q.cid).status == n.OK, 'Connect')
            q.enable()
        for q in queues:
            q.submit(n.sqe(n.GET_LOG, q.next_cid(), 0, n.sgl(n.SGL_TRANSPORT, 8192), n.log_cdw(LOG_DISCOVERY, 8192)),
                     read=8192)
        for i, q in enumerate(queues):
            _, entries = records(q.wait(q.cid).data)
            expect((PRIVATE in {text(e[256:512]) for e in entries}) == bool(i % 2), 'the view of the other host')


@book.row('D007', 'discovery controllers: KATO, Keep Alive, events')
def d007(t):
    env = t.env
    for kato in (0, 1000, 30000, 120000):
        with t.case('KATO %d is granted, Keep Alive is served, an event request waits' % kato):
            q = env.queue(t, who=env.who(nqn=n.DISCOVERY_NQN))
            granted(q, kato=kato)
            q.enable()
            q.event_request()
            expect(q.command(n.sqe(n.KEEP_ALIVE, q.next_cid())).status == n.OK, 'Keep Alive')
            q.wire.silent(0.1)
            expect(read_log(q)[0][1] > 0, 'the log')
    with t.case('kept for 2.5 s by Keep Alive, with KATO 500 ms; without any, with KATO 0'):
        idle = discovery(env, t)
        q = env.queue(t, who=env.who(nqn=n.DISCOVERY_NQN))
        granted(q, kato=500)
        q.enable()
        for _ in range(8):
            time.sleep(0.3)
            expect(q.command(n.sqe(n.KEEP_ALIVE, q.next_cid())).status == n.OK, 'Keep Alive')
        expect(read_log(idle)[0][1] > 0, 'the log')
    with t.case('I/O queues are refused'):
        q = discovery(env, t)
        io = env.queue(t, 1, who=q.who)
        refused(io, n.CONNECT_PARAM, cntlid=q.cntlid)


@book.row('D008', 'TREQ and TSAS without TLS')
def d008(t):
    with t.case('not specified, and no security'):
        for e in read_log(discovery(t.env, t))[1]:
            expect(e[3] & 3 in (0, 2) and e[768] == 0, 'TREQ 0x%x, TSAS SECTYPE %d', e[3], e[768])


@book.row('D009', 'the well-known discovery NQN leaves nothing behind')
def d009(t):
    env = t.env
    with t.case('300 of them, some with a reset'):
        before = env.quiet()
        for i in range(300):
            q = hostpeer.Queue(env.who(nqn=n.DISCOVERY_NQN), 0)
            q.initialise()
            granted(q)
            if i % 3 == 0:
                q.enable()
            (q.wire.reset if i % 2 else q.close)()
        env.target.settle(before)


@book.row('X016', 'SQHD, and the Connect of a host that does without flow control')
def x016(t):
    """Not of the list; what Connect grants has to be kept."""
    env = t.env
    with t.case('SQHD counts round the queue'):
        q = env.host(t, io_sqsize=7).io[0]
        heads = [q.read(0, 512).sqhd for _ in range(20)]
        expect(max(heads) < 8 and [(b - a) % 8 for a, b in zip(heads, heads[1:])] == [1] * 19, 'SQHD %s', heads)
    with t.case('SQHD 0xFFFF in the answer to Connect grants it'):
        q = env.queue(t)
        answer = q.connect(cattr=4)
        expect(answer.status == n.OK and answer.sqhd == 0xFFFF, 'SQHD 0x%x', answer.sqhd)
    with t.case('a host ID of zero and the same NQN are one host'):
        a = env.host(t, who=env.who(hostid=bytes(16)))
        b = env.host(t, who=env.who(hostid=bytes(16)))
        expect(a.admin.cntlid != b.admin.cntlid and b.io[0].write(0, bytes(512)).status == n.OK, 'the second')
