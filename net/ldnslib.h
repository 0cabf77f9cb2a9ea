/*
 * ldnslib.h - libldns, loaded when the gateway starts: linked, it and the
 * libraries that it needs would cost every start some milliseconds.
 *
 * Include it in place of ldns/ldns.h; its functions are then pointers, good
 * after ldnslib_load.
 */
#ifndef CLOCHE_LDNSLIB_H
#define CLOCHE_LDNSLIB_H

#include <ldns/ldns.h>

#include "../sentry/base/base.h"

#define LDNS_FUNCTIONS(X)             \
	X(ldns_dname_new_frm_str)     \
	X(ldns_pkt2wire)              \
	X(ldns_pkt_answer)            \
	X(ldns_pkt_edns)              \
	X(ldns_pkt_edns_udp_size)     \
	X(ldns_pkt_free)              \
	X(ldns_pkt_get_opcode)        \
	X(ldns_pkt_get_rcode)         \
	X(ldns_pkt_id)                \
	X(ldns_pkt_new)               \
	X(ldns_pkt_push_rr)           \
	X(ldns_pkt_qdcount)           \
	X(ldns_pkt_qr)                \
	X(ldns_pkt_question)          \
	X(ldns_pkt_rd)                \
	X(ldns_pkt_set_edns_udp_size) \
	X(ldns_pkt_set_id)            \
	X(ldns_pkt_set_qr)            \
	X(ldns_pkt_set_ra)            \
	X(ldns_pkt_set_rcode)         \
	X(ldns_pkt_set_rd)            \
	X(ldns_pkt_set_tc)            \
	X(ldns_pkt_tc)                \
	X(ldns_rdf2str)               \
	X(ldns_rdf_data)              \
	X(ldns_rdf_deep_free)         \
	X(ldns_rdf_new_frm_data)      \
	X(ldns_rdf_size)              \
	X(ldns_rr_free)               \
	X(ldns_rr_get_class)          \
	X(ldns_rr_get_type)           \
	X(ldns_rr_list_rr)            \
	X(ldns_rr_list_rr_count)      \
	X(ldns_rr_new)                \
	X(ldns_rr_owner)              \
	X(ldns_rr_push_rdf)           \
	X(ldns_rr_rdf)                \
	X(ldns_rr_set_class)          \
	X(ldns_rr_set_owner)          \
	X(ldns_rr_set_question)       \
	X(ldns_rr_set_ttl)            \
	X(ldns_rr_set_type)           \
	X(ldns_rr_ttl)                \
	X(ldns_wire2pkt)

struct ldnslib {
#define LDNS_MEMBER(f) __typeof__(&f) f;
	LDNS_FUNCTIONS(LDNS_MEMBER)
#undef LDNS_MEMBER
};

extern struct ldnslib ldnslib;

/* 0, or -ENOSYS after a message that names what is missing. */
int MUST_CHECK ldnslib_load(void);

#ifndef LDNSLIB_NO_NAMES
#define ldns_dname_new_frm_str	   ldnslib.ldns_dname_new_frm_str
#define ldns_pkt2wire		   ldnslib.ldns_pkt2wire
#define ldns_pkt_answer		   ldnslib.ldns_pkt_answer
#define ldns_pkt_edns		   ldnslib.ldns_pkt_edns
#define ldns_pkt_edns_udp_size	   ldnslib.ldns_pkt_edns_udp_size
#define ldns_pkt_free		   ldnslib.ldns_pkt_free
#define ldns_pkt_get_opcode	   ldnslib.ldns_pkt_get_opcode
#define ldns_pkt_get_rcode	   ldnslib.ldns_pkt_get_rcode
#define ldns_pkt_id		   ldnslib.ldns_pkt_id
#define ldns_pkt_new		   ldnslib.ldns_pkt_new
#define ldns_pkt_push_rr	   ldnslib.ldns_pkt_push_rr
#define ldns_pkt_qdcount	   ldnslib.ldns_pkt_qdcount
#define ldns_pkt_qr		   ldnslib.ldns_pkt_qr
#define ldns_pkt_question	   ldnslib.ldns_pkt_question
#define ldns_pkt_rd		   ldnslib.ldns_pkt_rd
#define ldns_pkt_set_edns_udp_size ldnslib.ldns_pkt_set_edns_udp_size
#define ldns_pkt_set_id		   ldnslib.ldns_pkt_set_id
#define ldns_pkt_set_qr		   ldnslib.ldns_pkt_set_qr
#define ldns_pkt_set_ra		   ldnslib.ldns_pkt_set_ra
#define ldns_pkt_set_rcode	   ldnslib.ldns_pkt_set_rcode
#define ldns_pkt_set_rd		   ldnslib.ldns_pkt_set_rd
#define ldns_pkt_set_tc		   ldnslib.ldns_pkt_set_tc
#define ldns_pkt_tc		   ldnslib.ldns_pkt_tc
#define ldns_rdf2str		   ldnslib.ldns_rdf2str
#define ldns_rdf_data		   ldnslib.ldns_rdf_data
#define ldns_rdf_deep_free	   ldnslib.ldns_rdf_deep_free
#define ldns_rdf_new_frm_data	   ldnslib.ldns_rdf_new_frm_data
#define ldns_rdf_size		   ldnslib.ldns_rdf_size
#define ldns_rr_free		   ldnslib.ldns_rr_free
#define ldns_rr_get_class	   ldnslib.ldns_rr_get_class
#define ldns_rr_get_type	   ldnslib.ldns_rr_get_type
#define ldns_rr_list_rr		   ldnslib.ldns_rr_list_rr
#define ldns_rr_list_rr_count	   ldnslib.ldns_rr_list_rr_count
#define ldns_rr_new		   ldnslib.ldns_rr_new
#define ldns_rr_owner		   ldnslib.ldns_rr_owner
#define ldns_rr_push_rdf	   ldnslib.ldns_rr_push_rdf
#define ldns_rr_rdf		   ldnslib.ldns_rr_rdf
#define ldns_rr_set_class	   ldnslib.ldns_rr_set_class
#define ldns_rr_set_owner	   ldnslib.ldns_rr_set_owner
#define ldns_rr_set_question	   ldnslib.ldns_rr_set_question
#define ldns_rr_set_ttl		   ldnslib.ldns_rr_set_ttl
#define ldns_rr_set_type	   ldnslib.ldns_rr_set_type
#define ldns_rr_ttl		   ldnslib.ldns_rr_ttl
#define ldns_wire2pkt		   ldnslib.ldns_wire2pkt
#endif

#endif
