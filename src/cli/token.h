/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A secret that bench --clients and its agents share: the contents of a file. Neither end sends it.
 * Each proves that it knows it by an HMAC-SHA-256 over what the other one has drawn, and which end it
 * is. What follows is neither encrypted nor signed: it is for networks that are trusted to carry it.
 */
#ifndef CLI_TOKEN_H
#define CLI_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TOKEN_MAX = 4096,
	TOKEN_LEAST = 16,      /* bytes: fewer could be guessed */
	TOKEN_NONCE_HEX = 33,  /* 16 bytes and the NUL */
	TOKEN_PROOF_HEX = 65,  /* 32 bytes and the NUL */
};

struct token {
	char text[TOKEN_MAX];
	size_t len; /* 0: none */
};

/* CLI_DONE, or what it has said: a file that others may read is refused. */
int token_load(struct token *t, const char *path, const char *command);
void token_nonce(char hex[TOKEN_NONCE_HEX]);
/* @role: "client" or "agent"; @theirs: what the end that will check has drawn. */
void token_prove(const struct token *t, const char *role, const char *theirs, const char *ours,
		 char hex[TOKEN_PROOF_HEX]);
/* Takes as long whatever differs. */
bool token_check(const struct token *t, const char *role, const char *ours, const char *theirs, const char *proof);

#endif
