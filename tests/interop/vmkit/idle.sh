#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Guest script: do nothing until stopped, for tests that drive the guest step by
# step from outside:
#
#   vm.sh start --dir D idle.sh
#   vm.sh exec D 'modprobe nvme-tcp; nvme connect -t tcp -a 10.0.2.2 -s 4420 -n NQN'
#   ... kill or restart the target ...
#   vm.sh exec D '. /vmkit/lib.sh; wait_for 10 nvme_is nvme0 live'
#   vm.sh stop D		status 0: no suspicious line in the kernel log
#
# What is written to /run/live shows up in D/out.log at once; the output of
# 'vm.sh exec' is there only when its command has ended.
#
# EXPECT (vm.sh --env): ERE of kernel-log lines that are no failure.

. /vmkit/lib.sh
mkfifo /run/live
cat <>/run/live & live=$!
klog_mark
over=0
trap 'over=1' TERM
vm_ready
while [ $over = 0 ]; do sleep 1 & wait $!; done 2>/dev/null
kill $live
klog_bad "${EXPECT-}"
