/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few registers of PCI configuration space that say how peer-to-peer traffic goes, out of a copy
 * of it. An ordinary user gets the first 64 bytes only, which hold none of the capabilities: that is
 * told apart from a device that has no such capability. The bytes may be anything; loops in the
 * lists of capabilities end.
 */
#ifndef DOCTOR_PCI_CONFIG_H
#define DOCTOR_PCI_CONFIG_H

#include <stddef.h>
#include <stdint.h>

enum {
	PCICFG_SIZE = 4096,
	PCICFG_PUBLIC = 64, /* what an ordinary user may read */

	/* ACS control register (PCIe 5.0, 7.7.11.3): what sends peer-to-peer traffic up to the root complex. */
	PCICFG_ACS_REDIRECT = 1 << 2,            /* P2P Request Redirect */
	PCICFG_ACS_COMPLETION_REDIRECT = 1 << 3, /* P2P Completion Redirect */
	PCICFG_ACS_UPSTREAM = 1 << 4,            /* Upstream Forwarding */
	PCICFG_ACS_EGRESS = 1 << 5,              /* P2P Egress Control */
	PCICFG_ACS_DETOUR =
		PCICFG_ACS_REDIRECT | PCICFG_ACS_COMPLETION_REDIRECT | PCICFG_ACS_UPSTREAM | PCICFG_ACS_EGRESS,
};

/*
 * The ACS control register of a bridge whose configuration space begins with these @n bytes. 0 if it
 * has no ACS; DOCTOR_DENIED if only the public part is there; DOCTOR_UNSEEN if what there is is too
 * short for its extended capabilities, or makes no sense.
 */
int64_t pcicfg_acs(const uint8_t *config, size_t n);

#endif
