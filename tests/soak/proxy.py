# SPDX-License-Identifier: Apache-2.0
"""A bad network: a TCP proxy whose connections come to harm at random, from a seed.

Each connection draws how long it is left alone and what then becomes of it. Some ends are those that a host sees at
once (reset, close), some that it has to find out (silence, one way or both), some are in the middle of a PDU, some
pass (a stall, a trickle of single bytes) and must go unnoticed but for the time they take. A bit is turned over only
where both digests are on, where it has to be found.

It runs in a process of its own, and is told and read through shared memory. One thread, level-triggered: what it
carries is far below what it could.
"""
import collections
import heapq
import multiprocessing
import random
import selectors
import socket
import struct
import time

CHUNK = 64 << 10
CONNECT_TIME = 5.0
# A connection that was left half dead goes when both ends should have given it up.
LEFT = 25.0
HARMS = collections.OrderedDict([  # kind: weight
    ('reset', 4),     # RST to both
    ('close', 3),     # FIN to both
    ('cut', 4),       # some bytes more one way, then RST: in the middle of a PDU
    ('half', 1),      # one way ends by a FIN, the other goes on
    ('silence', 1),   # nothing more, either way
    ('one_way', 1),   # nothing more, one way
    ('stall', 3),     # nothing for up to 2 s, then on
    ('trickle', 2),   # a few bytes a segment for a while, then on
    ('flip', 2),      # one bit, then on; only with digests
])
AT_ACCEPT = ['refused', 'late']  # closed at once; connected only after a while
COUNTED = list(HARMS) + AT_ACCEPT + ['storm']
PASSING = ('stall', 'trickle', 'flip')
# The first PDU of each way, ICReq and ICResp, has no digest.
UNPROTECTED = 128


class Way:
    """Bytes from one socket to another."""

    def __init__(self, source, sink):
        self.source, self.sink = source, sink
        self.waiting = b''
        self.passed = 0
        self.held = self.dead = False
        self.left = None      # bytes until the cut
        self.trickle = 0      # bytes still to go in small segments
        self.flip = False
        self.ended = False    # the source has said FIN


class Link:
    def __init__(self, near, far, door):
        self.door = door
        self.ways = [Way(near, far), Way(far, near)]
        self.socks = (near, far)
        self.closed = False


class Door:
    """Where hosts connect to. life: mean seconds before a harm."""

    def __init__(self, sock, target, life, digests):
        self.sock, self.target, self.life, self.digests = sock, target, life, digests
        self.addr = sock.getsockname()


class Proxy:
    def __init__(self, seed):
        self.seed = seed
        self.doors = []
        self.counts = multiprocessing.Array('Q', len(COUNTED), lock=False)
        self.links = multiprocessing.Value('Q', 0, lock=False)  # that were made
        self.bytes = multiprocessing.Value('Q', 0, lock=False)
        self._calm = multiprocessing.Value('b', 1, lock=False)
        self._storms = multiprocessing.Value('Q', 0, lock=False)
        self.process = None

    def door(self, target, life, digests=False):
        """The address of one more; before start()."""
        sock = socket.create_server(('127.0.0.1', 0), backlog=256)
        self.doors.append(Door(sock, target, life, digests))
        return self.doors[-1].addr

    def start(self):
        self.process = multiprocessing.Process(target=self._run, daemon=True)
        self.process.start()
        for door in self.doors:
            door.sock.close()

    def calm(self, on=True):
        """No harm to anybody while it is on, as it is at the beginning; those half dead end."""
        self._calm.value = on

    def storm(self):
        """All connections at once."""
        self._storms.value += 1

    def harms(self):
        return dict(zip(COUNTED, self.counts))

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.join()

    # ---- in the process ----

    def _run(self):
        self.rng = random.Random(self.seed)
        self.selector = selectors.DefaultSelector()
        self.due, self.serial = [], 0  # heap of (when, serial, function, arguments)
        self.alive = set()
        stormed, was_calm = 0, True
        for door in self.doors:
            door.sock.setblocking(False)
            self.selector.register(door.sock, selectors.EVENT_READ, door)
        while True:
            wait = 0.05
            if self.due:
                wait = max(0.0, min(wait, self.due[0][0] - time.monotonic()))
            for key, mask in self.selector.select(wait):
                if isinstance(key.data, Door):
                    self._accept(key.data)
                elif not key.data.closed:
                    self._turn(key.data, key.fileobj, mask)
            while self.due and self.due[0][0] <= time.monotonic():
                _, _, function, arguments = heapq.heappop(self.due)
                function(*arguments)
            if stormed != self._storms.value:
                stormed = self._storms.value
                self._count('storm')
                for link in list(self.alive):
                    self._end(link, reset=True)
            if self._calm.value and not was_calm:
                for link in [x for x in self.alive if any(w.dead or w.left is not None for w in x.ways)]:
                    self._end(link, reset=True)
            was_calm = bool(self._calm.value)

    def _count(self, kind):
        self.counts[COUNTED.index(kind)] += 1

    def _after(self, seconds, function, *arguments):
        self.serial += 1
        heapq.heappush(self.due, (time.monotonic() + seconds, self.serial, function, arguments))

    def _accept(self, door):
        try:
            near, _ = door.sock.accept()
        except OSError:
            return
        odds = 1.0 if self._calm.value else self.rng.random()
        if odds < 0.02:
            self._count('refused')
            near.close()
        elif odds < 0.05:
            self._count('late')
            self._after(self.rng.uniform(0.1, 2.0), self._dial, near, door)
        else:
            self._dial(near, door)

    def _dial(self, near, door):
        far = socket.socket(socket.AF_INET)
        far.settimeout(CONNECT_TIME)
        try:
            far.connect(door.target)
        except OSError:  # the listener is away
            near.close()
            far.close()
            return
        for s in (near, far):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.setblocking(False)
        link = Link(near, far, door)
        self.alive.add(link)
        self.links.value += 1
        for s in link.socks:
            self.selector.register(s, selectors.EVENT_READ, link)
        self._doom(link)

    def _doom(self, link):
        self._after(self.rng.expovariate(1 / link.door.life), self._harm, link)

    # ---- harm ----

    def _harm(self, link):
        if link.closed:
            return
        if self._calm.value:
            self._doom(link)
            return
        kinds = [k for k in HARMS if k != 'flip' or link.door.digests]
        kind = self.rng.choices(kinds, [HARMS[k] for k in kinds])[0]
        way = self.rng.choice(link.ways)
        self._count(kind)
        getattr(self, '_' + kind)(link, way)
        if kind in PASSING:
            self._doom(link)
        elif not link.closed:
            self._after(LEFT, self._end, link, True)
        self._watch(link)

    def _reset(self, link, _):
        self._end(link, reset=True)

    def _close(self, link, _):
        self._end(link, reset=False)

    def _cut(self, _, way):
        way.left = self.rng.choice((self.rng.randrange(1, 24), self.rng.randrange(1, 20000)))

    def _half(self, link, way):
        way.dead = True
        try:
            way.sink.shutdown(socket.SHUT_WR)
        except OSError:
            self._end(link, reset=True)

    def _silence(self, link, _):
        for way in link.ways:
            way.dead = True

    def _one_way(self, _, way):
        way.dead = True

    def _stall(self, link, _):
        for way in link.ways:
            way.held = True
        self._after(self.rng.uniform(0.05, 2.0), self._go_on, link)

    def _go_on(self, link):
        if not link.closed:
            for way in link.ways:
                way.held = False
            self._watch(link)

    def _trickle(self, _, way):
        way.trickle = self.rng.randrange(100, 3000)

    def _flip(self, _, way):
        way.flip = True

    # ---- bytes ----

    def _watch(self, link):
        """What each of its sockets is watched for."""
        if link.closed:
            return
        for s in link.socks:
            mask = 0
            for way in link.ways:
                stopped = way.held or way.dead
                if way.source is s and not stopped and not way.waiting and not way.ended:
                    mask |= selectors.EVENT_READ
                if way.sink is s and not stopped and way.waiting:
                    mask |= selectors.EVENT_WRITE
            key = self.selector.get_map().get(s)
            if not mask and key:
                self.selector.unregister(s)
            elif mask and not key:
                self.selector.register(s, mask, link)
            elif mask and key.events != mask:
                self.selector.modify(s, mask, link)

    def _turn(self, link, sock, mask):
        try:
            for way in link.ways:
                if way.held or way.dead:
                    continue
                if way.source is sock and mask & selectors.EVENT_READ and not way.waiting:
                    self._take(link, way)
                if not link.closed and way.waiting and not way.held and not way.dead:
                    self._give(link, way)
        except BlockingIOError:
            pass
        except OSError:
            self._end(link, reset=True)
        self._watch(link)

    def _take(self, link, way):
        data = way.source.recv(CHUNK)
        if not data:
            way.ended = True
            if all(w.ended for w in link.ways):
                self._end(link, reset=False)
            else:
                way.sink.shutdown(socket.SHUT_WR)
            return
        if way.flip and way.passed >= UNPROTECTED:
            at = self.rng.randrange(len(data))
            data = data[:at] + bytes([data[at] ^ 1 << self.rng.randrange(8)]) + data[at + 1:]
            way.flip = False
        way.waiting = data
        way.passed += len(data)
        self.bytes.value += len(data)

    def _give(self, link, way):
        some = way.waiting
        if way.left is not None:
            some = some[:way.left]
        if way.trickle > 0:
            some = some[:self.rng.randrange(1, 16)]
        sent = way.sink.send(some)
        way.waiting = way.waiting[sent:]
        way.trickle -= sent
        if way.left is not None:
            way.left -= sent
            if way.left <= 0:
                self._end(link, reset=True)

    def _end(self, link, reset):
        if link.closed:
            return
        link.closed = True
        self.alive.discard(link)
        for s in link.socks:
            if s in self.selector.get_map():
                self.selector.unregister(s)
            if reset:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            s.close()
