# SPDX-License-Identifier: Apache-2.0
"""Which rows each program has, in order."""
import host_change
import host_commands
import host_connect
import host_life
import host_more
import host_pdu
import target_life
import target_more
import target_pdu

HOST = [host_pdu.book, host_connect.book, host_commands.book, host_life.book, host_change.book, host_more.book]
TARGET = [target_pdu.book, target_life.book, target_more.book]
