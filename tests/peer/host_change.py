# SPDX-License-Identifier: Apache-2.0
"""Rows about a target that is changed while hosts use it: namespaces, subsystems, listeners, who may connect;
hosts that vanish without a word; and an end that a store would not let come."""
import contextlib
import os
import signal
import socket
import struct
import threading
import time

import hostpeer
import nvmetcp as n
import rows
import serving
import wire
from host_commands import ends
from host_env import BAD_ID, BAD_NQN
from serving import NQN
from wire import expect

book = rows.Book()
AEC, AEC_NAMESPACES, AEC_DISCOVERY = 0x0B, 1 << 8, 1 << 31
CHANGED_NS, DISCOVERY_LOG, DISCOVERY_NQN = 4, 0x70, 'nqn.2014-08.org.nvmexpress.discovery'
NAMESPACE_EVENT, DISCOVERY_EVENT = 0x040002, 0x70F002
AREA = 8192  # the load's first block: the rows stay below


@contextlib.contextmanager
def changing(t, **config):
    """A target with a verified load of another host on its namespace 1, which nothing below may disturb."""
    with t.env.fresh(t, **config) as target:
        load = hostpeer.Load(target.who(), AREA)
        load.start()
        load.more(5)
        try:
            yield target, load
            load.more(5)
        finally:
            load.stop()


def bad(target, **changes):
    return target.who(hostnqn=BAD_NQN, hostid=BAD_ID).but(**changes)


def told(q, cid, event=NAMESPACE_EVENT):
    """The event has come; asks for the next one."""
    answer = ends(q.wait(cid), n.OK)
    expect(answer.result & 0xFFFFFF == event, 'event %06x, not %06x', answer.result & 0xFFFFFF, event)
    return q.event_request()


def changed(q, rae=False):
    return [x for x in struct.unpack('<1024I', ends(q.log(CHANGED_NS, 4096, rae=rae), n.OK).data) if x]


@book.row('A006', 'the changed namespace list')
def a006(t):
    config = serving.serve_config(limits={'namespaces': 2000})
    with t.case('what was added, removed, resized and write-protected is in it, once, until it is read'):
        with changing(t) as (target, _):
            a = t.keep(hostpeer.Host(bad(target))).admin
            ends(a.set_feature(AEC, AEC_NAMESPACES), n.OK)
            cid = a.event_request()
            for _ in range(3):
                target.ctl('ns.add', store='memory:1M', nsid=7)
                target.ctl('ns.remove', nsid=7)
            target.ctl('ns.add', store='memory:1M', nsid=5)
            target.ctl('ns.set', nsid=5, read_only=True)
            cid = told(a, cid)
            expect(changed(a, rae=True) == [5, 7] and changed(a) == [5, 7], 'another list')
            expect(changed(a) == [], 'it stays')
            target.ctl('ns.remove', nsid=5)
            told(a, cid)
            expect(changed(a) == [5], 'another list')
    with t.case('more than fit: FFFFFFFFh alone'):
        with t.env.fresh(t, limits={'namespaces': 2000}) as target:
            a = t.keep(hostpeer.Host(bad(target))).admin
            ends(a.set_feature(AEC, AEC_NAMESPACES), n.OK)
            cid = a.event_request()
            config['subsystems'][0]['namespaces'] += [{'store': 'null:1M', 'nsid': i + 2} for i in range(1100)]
            target.rewrite(config)
            expect(len(target.ctl('reload')['changes']) == 1100, 'so many changes')
            told(a, cid)
            expect(changed(a) == [0xFFFFFFFF], 'another list')


@book.row('N001', 'namespaces that are removed and added again under load')
def n001(t):
    with t.case('300 times: every command is answered, with success or Invalid Namespace; what was acknowledged is there'):
        with changing(t) as (target, load):
            path = os.path.join(target.dir, 'n001.img')
            target.ctl('ns.add', store='file:%s,size=4M' % path, nsid=2)
            q = t.keep(hostpeer.Host(bad(target))).io[0]
            stop, tally = threading.Event(), {n.OK: 0, n.INVALID_NS: 0}
            last = bytes(4096)

            def traffic():
                nonlocal last
                while not stop.is_set():
                    data = os.urandom(16) * 256
                    answer = q.write(0, data, nsid=2)
                    tally[answer.status] = tally.get(answer.status, 0) + 1
                    last = data if answer.status == n.OK else last

            thread = threading.Thread(target=traffic)
            thread.start()
            rounds = 40 if t.env.sanitized else 300
            for _ in range(rounds):
                expect(target.ctl('ns.remove', nsid=2)['stores_still_in_use'] == 0, 'the file is still in use')
                target.ctl('ns.add', store='file:' + path, nsid=2)
            stop.set()
            thread.join(wire.PATIENCE)
            expect(set(tally) == {n.OK, n.INVALID_NS} and tally[n.OK] > 0, '%s', tally)
            expect(q.read(0, 4096, nsid=2).data == last, 'the last acknowledged write is not there')
            print('# %d written, %d refused' % (tally[n.OK], tally[n.INVALID_NS]))
            expect(not load.fault, '%s', load.fault)


@book.row('N002', 'many who change things at once')
def n002(t):
    with t.case('20 clients: each is answered, and what is left is what they left'):
        with changing(t) as (target, _):
            faults = []

            def client(i):
                try:
                    for _ in range(10):
                        target.ctl('ns.add', store='memory:1M', nsid=i + 10)
                        target.ctl('ns.set', nsid=i + 10, read_only=True)
                        target.ctl('ns.resize', nsid=i + 10)
                        if i % 2:
                            target.ctl('ns.remove', nsid=i + 10)
                        elif _ < 9:
                            target.ctl('ns.remove', nsid=i + 10)
                        target.ask('ns.add', store='memory:1M', nsid=1)  # which is taken
                except wire.Failed as e:
                    faults.append(str(e))

            clients = [threading.Thread(target=client, args=(i,)) for i in range(20)]
            for c in clients:
                c.start()
            for c in clients:
                c.join()
            # More than sixteen at once wait in the socket's queue, as the bound says.
            expect(not faults, '%s', faults)
            left = [x['nsid'] for x in target.ctl('status')['namespaces']]
            expect(left == [1] + list(range(10, 30, 2)), 'namespaces %s', left)


@book.row('N003', 'a namespace is resized under load')
def n003(t):
    with t.case('hosts are told, see the new size, and LBA Out of Range behind it'):
        with changing(t) as (target, _):
            path = os.path.join(target.dir, 'n003.img')
            target.ctl('ns.add', store='file:%s,size=4M' % path, nsid=2)
            h = t.keep(hostpeer.Host(bad(target)))
            a, q = h.admin, h.io[0]
            ends(a.set_feature(AEC, AEC_NAMESPACES), n.OK)
            cid = a.event_request()
            for mib in (8, 2, 6):
                os.truncate(path, mib << 20)
                expect(target.ctl('ns.resize', nsid=2) ==
                       {'schema': 'penstock.ctl/1', 'changed': True, 'size_bytes': mib << 20}, 'resize')
                cid = told(a, cid)
                expect(changed(a) == [2], 'the list')
                blocks = struct.unpack_from('<Q', ends(a.identify(0, 2), n.OK).data)[0]
                expect(blocks == mib << 11, 'NSZE %d', blocks)
                ends(q.write(blocks - 8, bytes(4096), nsid=2), n.OK)
                ends(q.read(blocks - 7, 4096, nsid=2), n.LBA_RANGE)


@book.row('N008', 'a subsystem that is removed under its hosts')
def n008(t):
    with t.case('what is in the store is answered, the connections end, its hosts do not come back; others notice nothing'):
        with changing(t) as (target, _):
            nqn = NQN + '-n008'
            target.ctl('subsys.add', nqn=nqn)
            target.ctl('ns.add', nqn=nqn, store='memory:1M,filter=delay:300ms:write')
            h = t.keep(hostpeer.Host(bad(target, subnqn=nqn)))
            q = h.io[0]
            cid = q.submit(q.write_sqe(0, bytes(4096), capsule=True), capsule=bytes(4096))
            time.sleep(0.05)
            target.ctl('subsys.remove', nqn=nqn)
            ends(q.wait(cid), n.OK)
            q.wire.expect_closed()
            h.admin.wire.expect_closed()
            again = t.keep(hostpeer.Queue(bad(target, subnqn=nqn)))
            again.initialise()
            ends(again.connect(), n.CONNECT_PARAM)
            expect(target.ctl('stats')['connections']['closed']['withdrawn'] == 2, 'the reason')
    with t.case('a host that takes no answers does not keep it'):
        with changing(t, drain='500ms') as (target, _):
            nqn = NQN + '-n008'
            target.ctl('subsys.add', nqn=nqn)
            target.ctl('ns.add', nqn=nqn, store='memory:32M')
            h = t.keep(hostpeer.Host(bad(target, subnqn=nqn)))
            q = h.io[0]
            q.wire.send(b''.join(q.capsule(q.read_sqe(0, 256 << 10)) for _ in range(30)))
            time.sleep(0.1)
            began = time.monotonic()
            target.ctl('subsys.remove', nqn=nqn)
            while any(s['nqn'] == nqn for s in target.ctl('status')['subsystems']):
                expect(time.monotonic() - began < 3, 'it is still there')
                time.sleep(0.02)


@book.row('C006', 'a host that is denied, and admitted again')
def c006(t):
    with t.case('its connections end, Connect Invalid Host; nobody else notices; the discovery log follows'):
        with changing(t) as (target, _):
            target.ctl('host.allow', host=hostpeer.HOSTNQN)
            target.ctl('host.allow', host=BAD_NQN)
            h = t.keep(hostpeer.Host(bad(target)))
            target.ctl('host.deny', host=BAD_NQN)
            h.io[0].wire.expect_closed()
            h.admin.wire.expect_closed()
            q = t.keep(hostpeer.Queue(bad(target)))
            q.initialise()
            ends(q.connect(), n.CONNECT_HOST)
            target.wait_log('event=connect_refused status="Connect Invalid Host".* host=%s' % BAD_NQN)
            d = t.keep(hostpeer.Host(bad(target, subnqn=DISCOVERY_NQN), queues=0)).admin
            expect(struct.unpack_from('<Q', d.log(DISCOVERY_LOG, 1024).data, 8)[0] == 1, 'it sees the subsystem')
            target.ctl('host.allow', host=BAD_NQN)
            expect(struct.unpack_from('<Q', d.log(DISCOVERY_LOG, 1024).data, 8)[0] == 2, 'it does not see it')
            t.keep(hostpeer.Host(bad(target)))


@book.row('D001', 'the discovery log changes while it is read')
def d001(t):
    with t.case('GENCTR moves with every change, events come (D006), and a log between two equal GENCTRs is whole'):
        with changing(t) as (target, _):
            d = t.keep(hostpeer.Host(bad(target, subnqn=DISCOVERY_NQN), queues=0)).admin
            ends(d.set_feature(AEC, AEC_DISCOVERY), n.OK)
            cid = d.event_request()
            stop, faults = threading.Event(), []

            def toggle():
                try:
                    while not stop.is_set():
                        change = target.ctl('listener.add', address='tcp://127.0.0.1:0')['changes'][0]
                        time.sleep(0.005)
                        target.ctl('listener.remove', address=change['detail'])
                        time.sleep(0.005)
                except Exception as e:
                    faults.append(repr(e))

            thread = threading.Thread(target=toggle)
            thread.start()
            whole, seen = 0, set()
            for _ in range(200):
                head = ends(d.log(DISCOVERY_LOG, 1024, rae=True), n.OK).data
                body = b''.join(ends(d.log(DISCOVERY_LOG, 1024, offset=1024 * (i + 1), rae=True), n.OK, n.INVALID_FIELD,
                                     dnr=None).data or b'' for i in range(struct.unpack_from('<Q', head, 8)[0]))
                after = ends(d.log(DISCOVERY_LOG, 1024), n.OK).data
                seen.add(head[:8])
                if head[:8] == after[:8]:
                    whole += 1
                    expect(len(body) == 1024 * struct.unpack_from('<Q', head, 8)[0], 'a log of %d bytes', len(body))
            stop.set()
            thread.join(wire.PATIENCE)
            expect(not faults and whole > 0 and len(seen) > 2, '%s; %d whole, %d generations', faults, whole, len(seen))
            told(d, cid, DISCOVERY_EVENT)


@book.row('K002', 'a host that vanishes without a word, with its keep alive turned off')
def k002(t):
    with t.case('it is found by TCP keepalive'):
        with changing(t, limits={'tcp_keepalive': '2s'}) as (target, _):
            before = target.ctl('status')['controllers']
            h = hostpeer.Host(bad(target), kato=0)
            expect(len(target.ctl('status')['controllers']) == len(before) + 1, 'it is connected')
            time.sleep(4)
            expect(len(target.ctl('status')['controllers']) == len(before) + 1, 'one that is there is kept')
            h.admin.get_property(n.CSTS)
            ends(h.io[0].read(0, 512), n.OK)
            try:
                for q in h.io + [h.admin]:
                    q.wire.sock.setsockopt(socket.IPPROTO_TCP, 19, 1)  # TCP_REPAIR: closes without a FIN
            except PermissionError:
                h.close()
                print('# not tried: it takes CAP_NET_ADMIN to vanish')
                return
            h.close()
            time.sleep(0.5)
            expect(len(target.ctl('status')['controllers']) == len(before) + 1, 'it said something after all')
            until = time.monotonic() + 10
            while len(target.ctl('status')['controllers']) > len(before):
                expect(time.monotonic() < until, 'it is still there')
                time.sleep(0.1)


@book.row('RELOAD', 'SIGHUP with good and bad files (ours)')
def reload_row(t):
    with t.case('a bad file changes nothing, a good one all that is different, and the log says what'):
        with changing(t) as (target, _):
            config = serving.serve_config()
            before = target.ctl('status')
            target.rewrite({**config, 'subsystems': config['subsystems'] + [{'nqn': 'bad'}]})
            target.signal(signal.SIGHUP)
            target.wait_log("event=reload_failed error=\"subsystem NQN 'bad'")
            after = target.ctl('status')
            expect(after['subsystems'] == before['subsystems'], 'something has changed')
            config['subsystems'][0]['namespaces'].append({'store': 'memory:2M', 'nsid': 4})
            config['arena'] = '32M'
            target.rewrite(config)
            target.signal(signal.SIGHUP)
            target.wait_log('event=changed what=namespace_added subsystem=%s nsid=4 detail=memory:2M' % NQN)
            target.wait_log('event=changed what=not_changed .*detail="arena: it takes a restart"')
            target.wait_log('event=reloaded changes=1 not_changed=1')


@book.row('X012', 'an end that a store would not let come')
def x012(t):
    for name, signals, limit in (('SIGTERM', 1, 8.0), ('SIGTERM twice', 2, 3.0)):
        with t.case('%s: within the time set, with 1, and it says why' % name):
            config = serving.serve_config(('memory:1M,filter=delay:60s:write',), drain='1s')
            target = t.keep(serving.Serving(config))
            q = t.keep(hostpeer.Host(target.who())).io[0]
            q.submit(q.write_sqe(0, bytes(4096), capsule=True), capsule=bytes(4096))
            time.sleep(0.1)
            began = time.monotonic()
            for _ in range(signals):
                target.signal(signal.SIGTERM)
                time.sleep(0.05)
            status, took = target.ended(), time.monotonic() - began
            expect(status == 1 and took < limit, 'it ended with %d after %.1f s', status, took)
            target.wait_log('a store did not end what it had begun')
