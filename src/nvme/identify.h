/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data structures of Identify (NVMe Base 2.0, 5.17; NVM Command Set 1.0, 4.1.5). Each is 4096 bytes
 * on the wire.
 *
 * Every field of the standard has its place and name here, also those a fabrics controller leaves
 * zero: a host prints them, and a struct with holes cannot be checked against the figure. Two
 * fields come from later text, because Linux and others act on them: DCTYPE (TP8010) and CQT
 * (TP4129), both in bytes that Base 2.0 reserves.
 *
 * EUI64, NGUID and UUID are byte strings in the order they are written, not little-endian numbers.
 */
#ifndef PENSTOCK_NVME_IDENTIFY_H
#define PENSTOCK_NVME_IDENTIFY_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/le.h"
#include "nvme/bits.h"

enum {
	NVME_IDENTIFY_SIZE = 4096,
	NVME_SERIAL_SIZE = 20,
	NVME_MODEL_SIZE = 40,
	NVME_FIRMWARE_SIZE = 8,
};

/* --- Identify Controller: CNS 01h, figure "Identify Controller Data Structure" --- */

struct nvme_power_state {
	le16 mp; /* maximum power, centiwatts unless MXPS */
	uint8_t rsvd2;
	uint8_t flags; /* bit 0 MXPS, bit 1 NOPS */
	le32 enlat;    /* microseconds to enter */
	le32 exlat;    /* microseconds to leave */
	uint8_t rrt;
	uint8_t rrl;
	uint8_t rwt;
	uint8_t rwl;
	le16 idlp;
	uint8_t ips;
	uint8_t rsvd19;
	le16 actp;
	uint8_t apws;
	uint8_t rsvd23[9];
};

static_assert(sizeof(struct nvme_power_state) == 32, "power state descriptor");

struct nvme_id_ctrl {
	/* Controller capabilities and features */
	le16 vid;
	le16 ssvid;
	uint8_t sn[NVME_SERIAL_SIZE];   /* ASCII, space padded: nvme/text.h */
	uint8_t mn[NVME_MODEL_SIZE];    /* likewise */
	uint8_t fr[NVME_FIRMWARE_SIZE]; /* likewise */
	uint8_t rab;
	uint8_t ieee[3];
	uint8_t cmic;
	uint8_t mdts; /* 0 no limit, else a power of two in units of the minimum page, CAP.MPSMIN */
	le16 cntlid;
	le32 ver; /* as property VS */
	le32 rtd3r;
	le32 rtd3e;
	le32 oaes; /* which events it sends; bits as in feature Asynchronous Event Configuration */
	le32 ctratt;
	le16 rrls;
	uint8_t rsvd102[9];
	uint8_t cntrltype;
	uint8_t fguid[16];
	le16 crdt1; /* command retry delays, units of 100 ms */
	le16 crdt2;
	le16 crdt3;
	uint8_t rsvd134[106];
	uint8_t rsvd240[13]; /* NVMe-MI */
	uint8_t nvmsr;
	uint8_t vwci;
	uint8_t mec;

	/* Admin command set attributes */
	le16 oacs;
	uint8_t acl;  /* abort command limit, counted from zero */
	uint8_t aerl; /* asynchronous event request limit, counted from zero */
	uint8_t frmw;
	uint8_t lpa;
	uint8_t elpe; /* error log entries, counted from zero */
	uint8_t npss; /* power states, counted from zero */
	uint8_t avscc;
	uint8_t apsta;
	le16 wctemp; /* kelvin */
	le16 cctemp; /* kelvin */
	le16 mtfa;
	le32 hmpre;
	le32 hmmin;
	struct nvme_u128 tnvmcap; /* bytes */
	struct nvme_u128 unvmcap; /* bytes */
	le32 rpmbs;
	le16 edstt;
	uint8_t dsto;
	uint8_t fwug;
	le16 kas; /* keep alive granularity, units of 100 ms; 0: no Keep Alive */
	le16 hctma;
	le16 mntmt;
	le16 mxtmt;
	le32 sanicap;
	le32 hmminds;
	le16 hmmaxd;
	le16 nsetidmax;
	le16 endgidmax;
	uint8_t anatt; /* longest ANA transition, seconds */
	uint8_t anacap;
	le32 anagrpmax;
	le32 nanagrpid;
	le32 pels;
	le16 domainid;
	uint8_t rsvd358[10];
	struct nvme_u128 megcap;
	uint8_t rsvd384[2];
	le16 cqt; /* command quiesce time, ms (TP4129) */
	uint8_t rsvd388[124];

	/* I/O command set attributes */
	uint8_t sqes; /* log2 of the SQE size: required in 3:0, maximum in 7:4 */
	uint8_t cqes; /* likewise */
	le16 maxcmd;  /* commands a queue may have outstanding; mandatory over fabrics */
	le32 nn;      /* the largest NSID */
	le16 oncs;
	le16 fuses;
	uint8_t fna;
	uint8_t vwc;
	le16 awun;  /* blocks, counted from zero */
	le16 awupf; /* blocks, counted from zero */
	uint8_t icsvscc;
	uint8_t nwpc;
	le16 acwu; /* blocks, counted from zero */
	le16 ocfs;
	le32 sgls;
	le32 mnan; /* the most namespaces; 0: NN says it */
	struct nvme_u128 maxdna;
	le32 maxcna;
	uint8_t rsvd564[204];
	uint8_t subnqn[256]; /* NUL terminated UTF-8: nvme_nqn_from_field() */
	uint8_t rsvd1024[768];

	/* Fabrics, bytes 2047:1792 */
	le32 ioccsz; /* largest I/O command capsule, units of 16 bytes: 4 + in-capsule data / 16 */
	le32 iorcsz; /* largest I/O response capsule, units of 16 bytes */
	le16 icdoff; /* where in-capsule data starts after the SQE, units of 16 bytes */
	uint8_t fcatt;
	uint8_t msdbd; /* SGL descriptors in a capsule at most; 0 no limit */
	le16 ofcs;
	uint8_t dctype; /* (TP8010) */
	uint8_t rsvd1807[241];

	struct nvme_power_state psd[32];
	uint8_t vs[1024];
};

static_assert(sizeof(struct nvme_id_ctrl) == NVME_IDENTIFY_SIZE, "Identify Controller");
NVME_AT(nvme_id_ctrl, ssvid, 2);
NVME_AT(nvme_id_ctrl, sn, 4);
NVME_AT(nvme_id_ctrl, mn, 24);
NVME_AT(nvme_id_ctrl, fr, 64);
NVME_AT(nvme_id_ctrl, rab, 72);
NVME_AT(nvme_id_ctrl, ieee, 73);
NVME_AT(nvme_id_ctrl, cmic, 76);
NVME_AT(nvme_id_ctrl, mdts, 77);
NVME_AT(nvme_id_ctrl, cntlid, 78);
NVME_AT(nvme_id_ctrl, ver, 80);
NVME_AT(nvme_id_ctrl, rtd3r, 84);
NVME_AT(nvme_id_ctrl, oaes, 92);
NVME_AT(nvme_id_ctrl, ctratt, 96);
NVME_AT(nvme_id_ctrl, rrls, 100);
NVME_AT(nvme_id_ctrl, cntrltype, 111);
NVME_AT(nvme_id_ctrl, fguid, 112);
NVME_AT(nvme_id_ctrl, crdt1, 128);
NVME_AT(nvme_id_ctrl, nvmsr, 253);
NVME_AT(nvme_id_ctrl, oacs, 256);
NVME_AT(nvme_id_ctrl, acl, 258);
NVME_AT(nvme_id_ctrl, aerl, 259);
NVME_AT(nvme_id_ctrl, frmw, 260);
NVME_AT(nvme_id_ctrl, lpa, 261);
NVME_AT(nvme_id_ctrl, elpe, 262);
NVME_AT(nvme_id_ctrl, npss, 263);
NVME_AT(nvme_id_ctrl, wctemp, 266);
NVME_AT(nvme_id_ctrl, mtfa, 270);
NVME_AT(nvme_id_ctrl, tnvmcap, 280);
NVME_AT(nvme_id_ctrl, unvmcap, 296);
NVME_AT(nvme_id_ctrl, rpmbs, 312);
NVME_AT(nvme_id_ctrl, fwug, 319);
NVME_AT(nvme_id_ctrl, kas, 320);
NVME_AT(nvme_id_ctrl, sanicap, 328);
NVME_AT(nvme_id_ctrl, nsetidmax, 338);
NVME_AT(nvme_id_ctrl, anatt, 342);
NVME_AT(nvme_id_ctrl, anacap, 343);
NVME_AT(nvme_id_ctrl, anagrpmax, 344);
NVME_AT(nvme_id_ctrl, nanagrpid, 348);
NVME_AT(nvme_id_ctrl, pels, 352);
NVME_AT(nvme_id_ctrl, domainid, 356);
NVME_AT(nvme_id_ctrl, megcap, 368);
NVME_AT(nvme_id_ctrl, cqt, 386);
NVME_AT(nvme_id_ctrl, sqes, 512);
NVME_AT(nvme_id_ctrl, cqes, 513);
NVME_AT(nvme_id_ctrl, maxcmd, 514);
NVME_AT(nvme_id_ctrl, nn, 516);
NVME_AT(nvme_id_ctrl, oncs, 520);
NVME_AT(nvme_id_ctrl, fuses, 522);
NVME_AT(nvme_id_ctrl, fna, 524);
NVME_AT(nvme_id_ctrl, vwc, 525);
NVME_AT(nvme_id_ctrl, awun, 526);
NVME_AT(nvme_id_ctrl, awupf, 528);
NVME_AT(nvme_id_ctrl, nwpc, 531);
NVME_AT(nvme_id_ctrl, acwu, 532);
NVME_AT(nvme_id_ctrl, sgls, 536);
NVME_AT(nvme_id_ctrl, mnan, 540);
NVME_AT(nvme_id_ctrl, maxdna, 544);
NVME_AT(nvme_id_ctrl, maxcna, 560);
NVME_AT(nvme_id_ctrl, subnqn, 768);
NVME_AT(nvme_id_ctrl, ioccsz, 1792);
NVME_AT(nvme_id_ctrl, iorcsz, 1796);
NVME_AT(nvme_id_ctrl, icdoff, 1800);
NVME_AT(nvme_id_ctrl, fcatt, 1802);
NVME_AT(nvme_id_ctrl, msdbd, 1803);
NVME_AT(nvme_id_ctrl, ofcs, 1804);
NVME_AT(nvme_id_ctrl, dctype, 1806);
NVME_AT(nvme_id_ctrl, psd, 2048);
NVME_AT(nvme_id_ctrl, vs, 3072);

/* Values and bits of the fields above, by field. */
enum {
	NVME_CMIC_MULTI_PORT = 1 << 0,
	NVME_CMIC_MULTI_CTRL = 1 << 1,
	NVME_CMIC_SRIOV = 1 << 2,
	NVME_CMIC_ANA = 1 << 3,

	NVME_CTRATT_HOSTID_128 = 1 << 0, /* HIDS */
	NVME_CTRATT_NOPSPM = 1 << 1,
	NVME_CTRATT_NVM_SETS = 1 << 2,
	NVME_CTRATT_READ_RECOVERY = 1 << 3,
	NVME_CTRATT_ENDURANCE_GROUPS = 1 << 4,
	NVME_CTRATT_PREDICTABLE_LATENCY = 1 << 5,
	NVME_CTRATT_TBKAS = 1 << 6, /* traffic restarts the keep alive timer */
	NVME_CTRATT_NS_GRANULARITY = 1 << 7,
	NVME_CTRATT_SQ_ASSOCIATIONS = 1 << 8,
	NVME_CTRATT_UUID_LIST = 1 << 9,
	NVME_CTRATT_MULTI_DOMAIN = 1 << 10,
	NVME_CTRATT_EXTENDED_LBA_FORMATS = 1 << 15,

	NVME_CNTRLTYPE_IO = 1,
	NVME_CNTRLTYPE_DISCOVERY = 2,
	NVME_CNTRLTYPE_ADMIN = 3,

	NVME_OACS_SECURITY = 1 << 0,
	NVME_OACS_FORMAT = 1 << 1,
	NVME_OACS_FIRMWARE = 1 << 2,
	NVME_OACS_NS_MANAGEMENT = 1 << 3,
	NVME_OACS_SELF_TEST = 1 << 4,
	NVME_OACS_DIRECTIVES = 1 << 5,
	NVME_OACS_NVME_MI = 1 << 6,
	NVME_OACS_VIRTUALIZATION = 1 << 7,
	NVME_OACS_DOORBELL_BUFFER = 1 << 8,
	NVME_OACS_GET_LBA_STATUS = 1 << 9,
	NVME_OACS_LOCKDOWN = 1 << 10,

	NVME_FRMW_SLOT1_READ_ONLY = 1 << 0,
	NVME_FRMW_SLOTS_SHIFT = 1, /* bits 3:1, 1 to 7 slots */
	NVME_FRMW_NO_RESET = 1 << 4,

	NVME_LPA_SMART_PER_NS = 1 << 0,
	NVME_LPA_EFFECTS = 1 << 1,
	NVME_LPA_EXTENDED_DATA = 1 << 2, /* NUMDU and the offset fields of Get Log Page work */
	NVME_LPA_TELEMETRY = 1 << 3,
	NVME_LPA_PERSISTENT_EVENT = 1 << 4,
	NVME_LPA_SUPPORTED_LOGS = 1 << 5, /* logs 00h, 05h, 12h, 13h, where applicable */

	NVME_ANACAP_OPTIMIZED = 1 << 0,
	NVME_ANACAP_NON_OPTIMIZED = 1 << 1,
	NVME_ANACAP_INACCESSIBLE = 1 << 2,
	NVME_ANACAP_PERSISTENT_LOSS = 1 << 3,
	NVME_ANACAP_CHANGE = 1 << 4,
	NVME_ANACAP_GROUP_FIXED = 1 << 6, /* a namespace's group does not change while attached */
	NVME_ANACAP_GROUP_MANAGED = 1 << 7,

	NVME_ONCS_COMPARE = 1 << 0,
	NVME_ONCS_WRITE_UNCORRECTABLE = 1 << 1,
	NVME_ONCS_DATASET_MGMT = 1 << 2,
	NVME_ONCS_WRITE_ZEROES = 1 << 3,
	NVME_ONCS_FEATURE_SAVE = 1 << 4,
	NVME_ONCS_RESERVATIONS = 1 << 5,
	NVME_ONCS_TIMESTAMP = 1 << 6,
	NVME_ONCS_VERIFY = 1 << 7,
	NVME_ONCS_COPY = 1 << 8,

	NVME_FUSES_COMPARE_WRITE = 1 << 0,

	NVME_VWC_PRESENT = 1 << 0,
	NVME_VWC_FLUSH_ALL_REFUSED = 2 << 1,  /* Flush with NSID FFFFFFFFh fails */
	NVME_VWC_FLUSH_ALL_ACCEPTED = 3 << 1, /* Flush with NSID FFFFFFFFh flushes all */

	NVME_SGLS_ANY_ALIGNMENT = 1 << 0,
	NVME_SGLS_DWORD_ALIGNMENT = 2 << 0,
	NVME_SGLS_KEYED = 1 << 2,
	NVME_SGLS_BIT_BUCKET = 1 << 16,
	NVME_SGLS_LARGER_THAN_DATA = 1 << 18, /* an SGL longer than the data is no error */
	NVME_SGLS_OFFSET = 1 << 20,           /* in-capsule data by offset */
	NVME_SGLS_TRANSPORT = 1 << 21,        /* Transport SGL Data Block */

	NVME_FCATT_STATIC_CTRL = 1 << 0,
	NVME_OFCS_DISCONNECT = 1 << 0,

	NVME_DCTYPE_NOT_REPORTED = 0,
	NVME_DCTYPE_DDC = 1, /* direct discovery controller */
	NVME_DCTYPE_CDC = 2, /* central discovery controller */
};

/* --- Identify Namespace: CNS 00h and 11h, figure of NVM Command Set 1.0, 4.1.5.1 --- */

struct nvme_lba_format {
	le16 ms;       /* metadata bytes */
	uint8_t lbads; /* log2 of the block size, 9 and up; 0: this format is not available */
	uint8_t rp;    /* relative performance in bits 1:0, 0 best */
};

static_assert(sizeof(struct nvme_lba_format) == 4, "LBA format");

struct nvme_id_ns {
	le64 nsze; /* blocks */
	le64 ncap; /* blocks */
	le64 nuse; /* blocks */
	uint8_t nsfeat;
	uint8_t nlbaf; /* formats, counted from zero */
	uint8_t flbas;
	uint8_t mc;
	uint8_t dpc;
	uint8_t dps;
	uint8_t nmic;
	uint8_t rescap;
	uint8_t fpi;
	uint8_t dlfeat;
	le16 nawun; /* this and the next four: blocks, counted from zero, valid by NSFEAT bit 1 */
	le16 nawupf;
	le16 nacwu;
	le16 nabsn;
	le16 nabo;
	le16 nabspf;
	le16 noiob;              /* optimal boundary, blocks; 0 none */
	struct nvme_u128 nvmcap; /* bytes */
	le16 npwg; /* this and the next four: blocks, counted from zero, valid by NSFEAT bit 4 */
	le16 npwa;
	le16 npdg;
	le16 npda;
	le16 nows;
	le16 mssrl;
	le32 mcl;
	uint8_t msrc;
	uint8_t rsvd81[11];
	le32 anagrpid;
	uint8_t rsvd96[3];
	uint8_t nsattr;
	le16 nvmsetid;
	le16 endgid;
	uint8_t nguid[16];
	uint8_t eui64[8];
	struct nvme_lba_format lbaf[64];
	uint8_t vs[3712];
};

static_assert(sizeof(struct nvme_id_ns) == NVME_IDENTIFY_SIZE, "Identify Namespace");
NVME_AT(nvme_id_ns, ncap, 8);
NVME_AT(nvme_id_ns, nuse, 16);
NVME_AT(nvme_id_ns, nsfeat, 24);
NVME_AT(nvme_id_ns, nlbaf, 25);
NVME_AT(nvme_id_ns, flbas, 26);
NVME_AT(nvme_id_ns, dps, 29);
NVME_AT(nvme_id_ns, nmic, 30);
NVME_AT(nvme_id_ns, rescap, 31);
NVME_AT(nvme_id_ns, dlfeat, 33);
NVME_AT(nvme_id_ns, nawun, 34);
NVME_AT(nvme_id_ns, nacwu, 38);
NVME_AT(nvme_id_ns, nabspf, 44);
NVME_AT(nvme_id_ns, noiob, 46);
NVME_AT(nvme_id_ns, nvmcap, 48);
NVME_AT(nvme_id_ns, npwg, 64);
NVME_AT(nvme_id_ns, npdg, 68);
NVME_AT(nvme_id_ns, nows, 72);
NVME_AT(nvme_id_ns, mssrl, 74);
NVME_AT(nvme_id_ns, mcl, 76);
NVME_AT(nvme_id_ns, msrc, 80);
NVME_AT(nvme_id_ns, anagrpid, 92);
NVME_AT(nvme_id_ns, nsattr, 99);
NVME_AT(nvme_id_ns, nvmsetid, 100);
NVME_AT(nvme_id_ns, endgid, 102);
NVME_AT(nvme_id_ns, nguid, 104);
NVME_AT(nvme_id_ns, eui64, 120);
NVME_AT(nvme_id_ns, lbaf, 128);
NVME_AT(nvme_id_ns, vs, 384);

enum {
	NVME_NSFEAT_THIN = 1 << 0,
	NVME_NSFEAT_ATOMICS = 1 << 1,       /* NSABP */
	NVME_NSFEAT_DEALLOC_ERROR = 1 << 2, /* DAE */
	NVME_NSFEAT_ID_NOT_REUSED = 1 << 3, /* UIDREUSE */
	NVME_NSFEAT_OPTPERF = 1 << 4,

	NVME_FLBAS_EXTENDED = 1 << 4, /* metadata lies between the blocks */

	NVME_NMIC_SHARED = 1 << 0,

	NVME_DLFEAT_READS_UNSPECIFIED = 0,
	NVME_DLFEAT_READS_ZEROES = 1,
	NVME_DLFEAT_READS_ONES = 2,
	NVME_DLFEAT_WRITE_ZEROES_DEAC = 1 << 3,

	NVME_NSATTR_WRITE_PROTECTED = 1 << 0,

	NVME_RESCAP_PTPL = 1 << 0,
	NVME_RESCAP_WRITE_EXCLUSIVE = 1 << 1,
	NVME_RESCAP_EXCLUSIVE_ACCESS = 1 << 2,
	NVME_RESCAP_WRITE_EXCLUSIVE_REGISTRANTS = 1 << 3,
	NVME_RESCAP_EXCLUSIVE_ACCESS_REGISTRANTS = 1 << 4,
	NVME_RESCAP_WRITE_EXCLUSIVE_ALL = 1 << 5,
	NVME_RESCAP_EXCLUSIVE_ACCESS_ALL = 1 << 6,
	NVME_RESCAP_IEKEY_1_3 = 1 << 7, /* IEKEY as NVMe 1.3 and later define it */
};

/*
 * Index of the format in use: FLBAS bits 6:5 and 3:0. The two upper bits count only with more than
 * 16 formats.
 */
static inline unsigned int nvme_id_ns_format(const struct nvme_id_ns *ns)
{
	unsigned int low = ns->flbas & 0xf;

	return ns->nlbaf > 15 ? low | (ns->flbas >> 1 & 0x30) : low;
}

/* --- Namespace Identification Descriptors: CNS 03h; packed, ended by NIDT 0 or the page --- */

enum nvme_nidt {
	NVME_NIDT_EUI64 = 1,
	NVME_NIDT_NGUID = 2,
	NVME_NIDT_UUID = 3,
	NVME_NIDT_CSI = 4,
};

enum {
	NVME_NIDL_EUI64 = 8,
	NVME_NIDL_NGUID = 16,
	NVME_NIDL_UUID = 16,
	NVME_NIDL_CSI = 1,
};

struct nvme_ns_desc {
	uint8_t nidt;
	uint8_t nidl; /* bytes of the identifier that follows */
	uint8_t rsvd2[2];
};

static_assert(sizeof(struct nvme_ns_desc) == 4, "descriptor header");

/* --- Lists --- */

/* Namespace list: CNS 02h, 07h, 10h, 1Ah; ascending, unused entries zero. */
enum {
	NVME_NS_LIST_MAX = 1024,
	NVME_CTRL_LIST_MAX = 2047,
};

struct nvme_ns_list {
	le32 nsid[NVME_NS_LIST_MAX];
};

/* Controller list: CNS 12h, 13h. */
struct nvme_ctrl_list {
	le16 num;
	le16 cntlid[NVME_CTRL_LIST_MAX];
};

static_assert(sizeof(struct nvme_ns_list) == NVME_IDENTIFY_SIZE, "namespace list");
static_assert(sizeof(struct nvme_ctrl_list) == NVME_IDENTIFY_SIZE, "controller list");

/* --- I/O command set specific structures --- */

/* CNS 05h with CSI 00h: NVM Command Set 1.0, 4.1.5.3. */
struct nvme_id_ns_nvm {
	le64 lbstm;
	uint8_t pic;
	uint8_t rsvd9[3];
	le32 elbaf[64];
	uint8_t rsvd268[3828];
};

/*
 * CNS 06h with CSI 00h: NVM Command Set 1.0, 4.1.5.4. The first three: powers of two of CAP.MPSMIN,
 * 0 no limit.
 */
struct nvme_id_ctrl_nvm {
	uint8_t vsl;  /* Verify */
	uint8_t wzsl; /* Write Zeroes */
	uint8_t wusl; /* Write Uncorrectable */
	uint8_t dmrl; /* Dataset Management: ranges; this and the next two all zero or none */
	le32 dmrsl;   /* blocks a range */
	le64 dmsl;    /* blocks a command */
	uint8_t rsvd16[4080];
};

/* CNS 08h: Base 2.0, figure "I/O Command Set Independent Identify Namespace Data Structure". */
struct nvme_id_ns_independent {
	uint8_t nsfeat; /* only bit 3 UIDREUSE, bit 4 RMEDIA */
	uint8_t nmic;
	uint8_t rescap;
	uint8_t fpi;
	le32 anagrpid;
	uint8_t nsattr;
	uint8_t rsvd9;
	le16 nvmsetid;
	le16 endgid;
	uint8_t nstat;
	uint8_t rsvd15[4081];
};

enum {
	NVME_NSFEAT_ROTATIONAL = 1 << 4, /* of nvme_id_ns_independent */
	NVME_NSTAT_READY = 1 << 0,
};

/* CNS 1Ch: combinations of command sets; one bit per CSI, ended by a zero vector. */
struct nvme_id_iocs {
	le64 iocsc[512];
};

static_assert(sizeof(struct nvme_id_ns_nvm) == NVME_IDENTIFY_SIZE, "CNS 05h");
static_assert(sizeof(struct nvme_id_ctrl_nvm) == NVME_IDENTIFY_SIZE, "CNS 06h");
static_assert(sizeof(struct nvme_id_ns_independent) == NVME_IDENTIFY_SIZE, "CNS 08h");
static_assert(sizeof(struct nvme_id_iocs) == NVME_IDENTIFY_SIZE, "CNS 1Ch");
NVME_AT(nvme_id_ns_nvm, pic, 8);
NVME_AT(nvme_id_ns_nvm, elbaf, 12);
NVME_AT(nvme_id_ctrl_nvm, dmrl, 3);
NVME_AT(nvme_id_ctrl_nvm, dmrsl, 4);
NVME_AT(nvme_id_ctrl_nvm, dmsl, 8);
NVME_AT(nvme_id_ns_independent, anagrpid, 4);
NVME_AT(nvme_id_ns_independent, nvmsetid, 10);
NVME_AT(nvme_id_ns_independent, nstat, 14);

#endif
