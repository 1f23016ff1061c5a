/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/pci-config.h"

#include <stdbool.h>

#include "doctor/facts.h"

enum {
	STATUS = 0x06,
	STATUS_CAP_LIST = 1 << 4,
	EXTENDED = 0x100, /* where extended capabilities begin (PCIe 5.0, 7.6) */
	EXT_ID_ACS = 0x000d,
	ACS_CONTROL = 6,                         /* within the capability */
	CAPS_MAX = (PCICFG_SIZE - EXTENDED) / 8, /* as many as there can be */
};

static uint16_t u16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t u32(const uint8_t *p)
{
	return u16(p) | (uint32_t)u16(p + 2) << 16;
}

int64_t pcicfg_acs(const uint8_t *config, size_t n)
{
	size_t at = EXTENDED;

	if (n < PCICFG_PUBLIC || u16(config) == 0xffff)
		return DOCTOR_UNSEEN;
	if (!(u16(config + STATUS) & STATUS_CAP_LIST))
		return 0;
	if (n == PCICFG_PUBLIC)
		return DOCTOR_DENIED;
	/* A conventional device has 256 bytes and can have no ACS; that is what the kernel then shows. */
	if (n == EXTENDED)
		return 0;
	for (int i = 0; i < CAPS_MAX; i++) {
		uint32_t header;

		if (at + 8 > n)
			return DOCTOR_UNSEEN;
		header = u32(config + at);
		if (header == 0 || header == UINT32_MAX)
			return 0;
		if ((header & 0xffff) == EXT_ID_ACS)
			return u16(config + at + ACS_CONTROL);
		at = header >> 20;
		if (at == 0)
			return 0;
		if (at < EXTENDED || at % 4 != 0)
			return DOCTOR_UNSEEN;
	}
	return DOCTOR_UNSEEN;
}
