/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bench --clients and penstock agent say to each other, one JSON document a line:
 *
 *	agent   {schema, version, nonce, auth}		who it is
 *	client  {type: hello, schema, version, nonce, proof}
 *	agent   {type: welcome, proof}			or {type: refused, why}
 *	client  {type: run, arguments: [...]}		of bench
 *	agent   {type: ready}				everything is open there
 *	client  {type: ping}, agent {type: pong}	how far it is
 *	client  {type: go, after_us}			begin then; no clock is compared
 *	agent   {type: alive}				each second, from run on
 *	client  {type: stop}				finish early
 *	agent   {type: result, status, document, said}	what bench printed and said
 *
 * Who closes the connection ends the run.
 */
#ifndef CLI_AGENT_H
#define CLI_AGENT_H

#include <stdint.h>

#define AGENT_SCHEMA "penstock.agent/1"

enum { AGENT_PORT = 4430, AGENT_ARGUMENTS_MAX = 256 };

#define AGENT_ALIVE_NS	 UINT64_C(1000000000)
#define AGENT_LOST_NS	 UINT64_C(10000000000) /* nothing heard for so long: it is lost */
#define AGENT_ANSWER_NS	 UINT64_C(10000000000) /* to a greeting */

#endif
