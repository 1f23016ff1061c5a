/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/token.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "cli/cli.h"

static void hex_of(const uint8_t *bytes, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

int token_load(struct token *t, const char *path, const char *command)
{
	FILE *f = fopen(path, "r");
	struct stat st;
	int rc = CLI_DONE;

	if (!f)
		return cli_error("%s: --token-file %s: %s", command, path, strerror(errno));
	if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode))
		rc = cli_error("%s: --token-file %s: no regular file", command, path);
	else if (st.st_mode & (S_IRWXG | S_IRWXO))
		rc = cli_error("%s: --token-file %s: others may read it: chmod 600", command, path);
	t->len = fread(t->text, 1, sizeof(t->text), f);
	fclose(f);
	/* An editor ends a file with a newline: that is no part of it. */
	while (t->len > 0 && (t->text[t->len - 1] == '\n' || t->text[t->len - 1] == '\r'))
		t->len--;
	if (rc == CLI_DONE && (t->len < TOKEN_LEAST || t->len == sizeof(t->text)))
		rc = cli_error("%s: --token-file %s: expected %d to %d bytes", command, path, TOKEN_LEAST,
			       TOKEN_MAX - 1);
	return rc;
}

void token_nonce(char hex[TOKEN_NONCE_HEX])
{
	uint8_t bytes[(TOKEN_NONCE_HEX - 1) / 2];

	INVARIANT(RAND_bytes(bytes, sizeof(bytes)) == 1);
	hex_of(bytes, sizeof(bytes), hex);
}

void token_prove(const struct token *t, const char *role, const char *theirs, const char *ours,
		 char hex[TOKEN_PROOF_HEX])
{
	uint8_t mac[EVP_MAX_MD_SIZE];
	char text[512];
	unsigned int n = 0;
	int len = snprintf(text, sizeof(text), "penstock.agent/1 %s %.100s %.100s", role, theirs, ours);

	INVARIANT(HMAC(EVP_sha256(), t->text, (int)t->len, (const uint8_t *)text, (size_t)len, mac, &n));
	hex_of(mac, n, hex);
}

bool token_check(const struct token *t, const char *role, const char *ours, const char *theirs, const char *proof)
{
	char want[TOKEN_PROOF_HEX];

	token_prove(t, role, ours, theirs, want);
	return strlen(proof) == strlen(want) && CRYPTO_memcmp(proof, want, strlen(want)) == 0;
}
