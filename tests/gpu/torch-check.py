#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch as destinations, checked on the device: what was read is compared there with what a reference
copy holds, in the order of a stream, with no synchronisation in between. Through the C API by ctypes.

usage: torch-check.py LIBPENSTOCK URI FILE-WITH-THE-SAME-CONTENTS
"""
import ctypes as c
import sys

import torch

lib = c.CDLL(sys.argv[1])


class Error(c.Structure):
    _fields_ = [('code', c.c_int), ('text', c.c_char * 512)]


class Timing(c.Structure):
    _fields_ = [(n, c.c_uint64) for n in 'total client_queue network target_queue qos media staging wakeup remote'.split()]


class Completion(c.Structure):
    _fields_ = [('error', c.c_int), ('nvme_status', c.c_uint16), ('path', c.c_int), ('bytes', c.c_uint64),
                ('sampled', c.c_bool), ('timing', Timing), ('user', c.c_void_p)]


def call(name, *args):
    err = Error()
    if getattr(lib, name)(*args, c.byref(err)) < 0:
        sys.exit('torch-check: %s: %s' % (name, err.text.decode()))


lib.pst_path_name.restype = c.c_char_p
U64, P = c.c_uint64, c.c_void_p
ctx, vol = P(), P()
call('pst_context_new', P(), c.byref(ctx))
call('pst_volume_open', ctx, sys.argv[2].encode(), P(), c.byref(vol))

with open(sys.argv[3], 'rb') as f:
    reference = torch.frombuffer(bytearray(f.read(64 << 20)), dtype=torch.uint8).cuda()
n = reference.numel()
stream = torch.cuda.Stream()
failed = 0
for kind, sizes in (('one allocation', [n]), ('parts of one', [n // 3, n // 5 + 1]), ('many', [65536] * 32)):
    whole = torch.zeros(n + 4096, dtype=torch.uint8, device='cuda')
    at = 0
    for size in sizes:
        part = whole[at + 13:at + 13 + size] if kind != 'many' else torch.zeros(size, dtype=torch.uint8, device='cuda')
        mem, done = P(), Completion()
        call('pst_memory_cuda', ctx, U64(part.data_ptr()), c.c_size_t(size), P(), c.byref(mem))
        with torch.cuda.stream(stream):
            part.fill_(1)  # before the read, in the order of the stream
            rc = lib.pst_read_on_stream(vol, mem, c.c_size_t(0), U64(at), U64(size), U64(stream.cuda_stream), P(), P())
            if rc < 0 or lib.pst_wait(ctx, c.byref(done), 1, U64(2**64 - 1)) != 1 or done.error:
                sys.exit('torch-check: read: %d %d' % (rc, done.error))
            right = torch.equal(part, reference[at:at + size])  # behind the copies, on the device
        failed += not right
        lib.pst_memory_free(mem)
        at += size
    print('%s: %s by path %s' % (kind, 'right' if failed == 0 else 'WRONG', lib.pst_path_name(done.path).decode()))
lib.pst_volume_close(vol)
lib.pst_context_free(ctx)
sys.exit(failed > 0)
