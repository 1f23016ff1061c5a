# SPDX-License-Identifier: Apache-2.0
"""One TCP connection that speaks NVMe/TCP as badly as it is told to: any bytes, at any pace, any end.

It remembers the last PDUs of both ways, so that a check that fails can show what was said.
"""
import collections
import select
import socket
import struct
import time

import nvmetcp as n

# How long a test waits for what must come. A machine that is busy may need it; nothing that works does.
PATIENCE = 10.0
TRACE = 12


class Failed(Exception):
    """What a test expected did not happen."""


class Closed(Failed):
    """The peer ended the connection. how: 'fin' or 'reset'."""

    def __init__(self, how):
        super().__init__('the peer closed the connection (%s)' % how)
        self.how = how


class Timeout(Failed):
    pass


def expect(condition, text, *args):
    if not condition:
        raise Failed(text % args if args else text)


def hexed(data, limit=48):
    return data[:limit].hex(' ', 4) + ('...' if len(data) > limit else '')


def ready(sock, event, seconds):
    """Waits for it; poll(), for select() takes no descriptor above 1023."""
    p = select.poll()
    p.register(sock, event)
    return bool(p.poll(seconds * 1000))


class Wire:
    """sock: connected; it becomes the wire's."""

    def __init__(self, sock, name='wire'):
        self.sock, self.name = sock, name
        self.digests = n.NO_DIGESTS  # of what is received
        self.buf = bytearray()
        self.trace = collections.deque(maxlen=TRACE)
        self.ended = None  # how the peer ended it
        self.pace = None   # bytes -> lengths of the segments they are sent in
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)

    # ---- out ----

    def send(self, data, step=0, gap=0.0, within=PATIENCE):
        """All of data; step: in segments of so many bytes, gap seconds apart."""
        self.note('>', data)
        if self.pace and not step:
            lengths = self.pace(data)
        else:
            lengths = [step] * -(-len(data) // step) if step else [len(data)]
        at = 0
        for some in lengths:
            if at >= len(data):
                break
            self._send_all(data[at:at + some], within)
            at += some
            if len(lengths) > 1:
                time.sleep(gap or 0.0001)

    def _send_all(self, data, within):
        view, until = memoryview(data), time.monotonic() + within
        while view:
            left = until - time.monotonic()
            if left <= 0 or not ready(self.sock, select.POLLOUT, left):
                raise Timeout('%s: %d bytes were not taken within %.1f s' % (self.name, len(view), within))
            try:
                view = view[self.sock.send(view):]
            except BlockingIOError:
                continue
            except OSError as e:
                self.ended = self.ended or 'reset'
                raise Closed('reset') from e

    def send_until_full(self, data, most):
        """As much as the peer takes without anybody waiting; how much that was."""
        sent = 0
        while sent < most and ready(self.sock, select.POLLOUT, 0.3):
            try:
                sent += self.sock.send(data)
            except BlockingIOError:
                pass
        return sent

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """RST: SO_LINGER of 0."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()

    # ---- in ----

    def _fill(self, until):
        """One receive; False when the time is over."""
        left = until - time.monotonic()
        if left <= 0 or not ready(self.sock, select.POLLIN, left):
            return False
        try:
            got = self.sock.recv(1 << 20)
        except BlockingIOError:
            return True
        except OSError as e:
            self.ended = 'reset'
            raise Closed('reset') from e
        if not got:
            self.ended = 'fin'
            raise Closed('fin')
        self.buf += got
        return True

    def pdu(self, within=PATIENCE):
        """The next PDU."""
        until = time.monotonic() + within
        while True:
            got = n.cut(self.buf, self.digests)
            if got:
                self.note('<', got)
                del self.buf[:got.plen]
                return got
            if not self._fill(until):
                raise Timeout('%s: no PDU within %.1f s' % (self.name, within))

    def expect_pdu(self, kind, within=PATIENCE, **fields):
        """The next PDU, of that kind and with those fields."""
        got = self.pdu(within)
        expect(got.kind == kind, '%s: %s expected, got %s', self.name, n.NAMES.get(kind, kind), got)
        for name, want in fields.items():
            have = getattr(got, name)
            expect(have == want, '%s: %s %s=%s expected, got %s', self.name, n.NAMES[kind], name, want, got)
        return got

    def silent(self, seconds):
        """Nothing comes for that long, not even an end."""
        until = time.monotonic() + seconds
        expect(not self.buf, '%s: %d bytes more than expected', self.name, len(self.buf))
        while self._fill(until):
            raise Failed('%s: silence expected, got %s' % (self.name, hexed(self.buf)))

    def expect_closed(self, within=PATIENCE):
        """The peer ends the connection; what it still says is thrown away. Returns how and after how long."""
        began = time.monotonic()
        while True:
            try:
                if not self._fill(began + within):
                    break
                self.buf.clear()
            except Closed as e:
                return e.how, time.monotonic() - began
        raise Timeout('%s: still open after %.1f s' % (self.name, within))

    # ---- for people ----

    def note(self, way, what):
        self.trace.append((way, what if isinstance(what, n.Pdu) else bytes(what[:192])))

    def told(self):
        """The last PDUs, as lines."""
        lines = []
        for way, what in self.trace:
            if isinstance(what, n.Pdu):
                lines.append('%s %s %s' % (self.name, way, what))
                continue
            try:
                # Our own headers carry no digests as far as telling them goes.
                text = n.describe(n.Pdu(what, n.NO_DIGESTS)) if len(what) >= 8 else 'bytes'
            except (ValueError, struct.error, IndexError):
                text = 'bytes'
            lines.append('%s %s %s  [%s]' % (self.name, way, text, hexed(what, 24)))
        return lines


def endings(wires, within, began):
    """Waits for all of them at once: {wire: seconds from `began` until the peer ended it, or None}."""
    after = dict.fromkeys(wires)
    while None in after.values() and time.monotonic() < began + within:
        still = [w for w in wires if after[w] is None]
        ready = set(select.select([w.sock for w in still], [], [], 0.05)[0])
        for w in still:
            if w.sock not in ready:
                continue
            try:
                w._fill(time.monotonic() + 1)
                w.buf.clear()
            except Closed:
                after[w] = time.monotonic() - began
    return after


def dial(addr, name='wire', within=PATIENCE, rcvbuf=0):
    """addr: (host, port)."""
    sock = socket.socket(socket.AF_INET6 if ':' in addr[0] else socket.AF_INET)
    if rcvbuf:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    sock.settimeout(within)
    try:
        sock.connect(addr)
    except OSError as e:
        sock.close()
        raise Failed('connecting to %s:%d: %s' % (addr[0], addr[1], e)) from e
    return Wire(sock, name)
