/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/scale.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

int scale_parse(const char *arg, uint64_t *ret_ppm)
{
	char digits[24];
	size_t whole = strcspn(arg, "."), places = arg[whole] ? strlen(arg + whole + 1) : 0;
	uint64_t ppm;

	if (whole == 0 || whole > 12 || places > 6 || (arg[whole] && places == 0))
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%.*s%s%.*s", (int)whole, arg, arg[whole] ? arg + whole + 1 : "",
		 (int)(6 - places), "000000");
	if (strspn(digits, "0123456789") != strlen(digits))
		return -EINVAL;
	if (parse_u64(digits, &ppm) < 0 || ppm == 0 || ppm > SCALE_MAX)
		return -EINVAL;
	*ret_ppm = ppm;
	return 0;
}
