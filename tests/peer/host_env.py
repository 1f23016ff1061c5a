# SPDX-License-Identifier: Apache-2.0
"""What the rows against the target share: one target with all they need, an identity for bad hosts, and fresh
targets for rows that need one of their own."""
import contextlib

import hostpeer
import nvmetcp as n
import serving
from wire import expect

BAD_NQN = 'nqn.2014-08.org.nvmexpress:uuid:bad0bad0-0000-4000-8000-000000000002'
BAD_ID = n.hostid_of('bad0bad0-0000-4000-8000-000000000002')
# One more, for what must not be taken for the same host.
OTHER_NQN = 'nqn.2014-08.org.nvmexpress:uuid:bad0bad0-0000-4000-8000-000000000003'
OTHER_ID = n.hostid_of('bad0bad0-0000-4000-8000-000000000003')
PRIVATE, ELSEWHERE = 'nqn.2026-11.io.penstock:private', 'nqn.2026-11.io.penstock:elsewhere'

# Namespaces of the main subsystem.
NS, NS_4K, NS_READ_ONLY, NS_SLOW, NS_BROKEN = 1, 2, 3, 4, 5
BLOCKS = (64 << 20) // 512
IN_CAPSULE, MDTS, DEPTH, ARENA = 4096, 256 << 10, 128, 16 << 20
LOAD_LBA = BLOCKS - hostpeer.Load.BLOCKS  # the area of the load; rows stay below


def config():
    return {
        'listeners': [{'address': 'tcp://127.0.0.1:0', 'subsystems': [serving.NQN, PRIVATE]},
                      {'address': 'tcp://127.0.0.1:0', 'subsystems': [ELSEWHERE]},
                      {'address': 'tcp://[::1]:0'}],
        'subsystems': [
            {'nqn': serving.NQN, 'namespaces': [
                {'store': 'memory:64M'}, {'store': 'memory:16M,block=4096'}, {'store': 'memory:1M', 'read_only': True},
                {'store': 'memory:16M,filter=delay:400ms:write'},
                {'store': 'memory:16M,filter=error:read:EIO:range=1M+4k,filter=error:write:ENOSPC:range=2M+4k'
                          ',filter=error:flush:EIO'}]},
            {'nqn': PRIVATE, 'allow': [OTHER_NQN], 'namespaces': [{'store': 'memory:1M'}]},
            {'nqn': ELSEWHERE, 'namespaces': [{'store': 'memory:1M'}]}],
        'arena': '16M', 'limits': {'mdts': '256k', 'in_capsule': '4k', 'max_h2c_data': '64k', **serving.SHORT}}


class Env:
    def __init__(self):
        self.sanitized = serving.sanitized()
        self.target = serving.Serving(config())
        self.load = hostpeer.Load(self.target.who(), LOAD_LBA)
        self.load.start()
        # The arena when all of it has been used, and what connections take: on a busy machine all that a row opens
        # (128 in X006) are there at once, and the allocator keeps what it had.
        self.watch = serving.Watch(self.target, self.load, slow=10.0 if self.sanitized else 3.0,
                                   memory=(ARENA // serving.MIB + (112 if self.sanitized else 24)) * serving.MIB)

        self.idle = self.target.descriptors()

    def quiet(self):
        """Waits until the load is all that is connected; how many descriptors are open then."""
        self.target.settle(self.idle)
        return self.idle

    def who(self, nqn=serving.NQN, listener=0, **changes):
        return self.target.who(nqn, listener, hostnqn=BAD_NQN, hostid=BAD_ID).but(**changes)

    # Each is closed at the end of the case it was made in.

    def queue(self, t, qid=0, who=None, ic=True, **how):
        """A connection, initialised unless told otherwise."""
        q = t.keep(hostpeer.Queue(who or self.who(), qid, 'bad.q%d' % qid))
        if ic:
            q.initialise(**how)
        return q

    def host(self, t, who=None, **how):
        """A controller with an I/O queue."""
        return t.keep(hostpeer.Host(who or self.who(), name='bad', **how))

    @contextlib.contextmanager
    def fresh(self, t, env=None, **config):
        """A target of their own for some cases; it must end well."""
        with t.case('has a target of its own, which ends well', quiet=True):
            target = t.keep(serving.Serving(serving.serve_config(**config), env=env))
            yield target
            target.stop()

    def reason(self, t, provoke, reason, what=None):
        """provoke(who) against a fresh target: its log must give that reason once, and say what was wrong with the
        PDU. A fresh one, because lines about peers are rationed."""
        with t.case('says so in the log: reason=%s%s' % (reason, ' what=' + what if what else '')):
            with self.fresh(t) as target:
                # A host that stays and is not to blame for anything.
                good = t.keep(hostpeer.Host(target.who()))
                lines = len(target.log())
                provoke(target.who(hostnqn=BAD_NQN, hostid=BAD_ID))
                ends = target.wait_log('event=disconnect .*reason=%s ' % reason, lines)
                expect(len(ends) == 1, '%d such lines', len(ends))
                expect('peer=127.0.0.1:' in ends[0], 'no peer in %s', ends[0])
                if what:
                    bad = target.wait_log('event=bad_pdu what=%s ' % what, lines)
                    expect(len(bad) == 1 and 'peer=127.0.0.1:' in bad[0], '%s', bad)
                said = target.log(lines)
                expect(len(said) <= 4, '%d lines:\n%s', len(said), ''.join(said))
                expect(good.io[0].write(0, bytes(512)).status == n.OK, 'the other host suffered')
                good.close()
