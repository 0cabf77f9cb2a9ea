/*
 * dns.c - see dns.h.
 */
#include "dns.h"

#include "ldnslib.h"

enum { TTL_MAX = 86400 };

static void free_pkt(ldns_pkt **p)
{
	if (*p)
		ldns_pkt_free(*p);
}

static void free_wire(uint8_t **p)
{
	LDNS_FREE(*p);
}

/* "a.b." as ldns writes it, escapes and all, to canonical; "" if it is none */
static void canon_rdf(const ldns_rdf *rdf, char out[NETHOST_SIZE])
{
	char *text = rdf ? ldns_rdf2str(rdf) : NULL;

	if (!text || nethost_canon(text, strlen(text), out))
		out[0] = '\0';
	LDNS_FREE(text);
}

static ldns_rdf *name_rdf(const char *name)
{
	return ldns_dname_new_frm_str(name);
}

int dns_parse_question(const uint8_t *msg, size_t len, struct dns_question *q)
{
	__attribute__((cleanup(free_pkt))) ldns_pkt *p = NULL;
	ldns_rr *rr;
	char *text;

	memset(q, 0, sizeof(*q));
	if (ldnslib_load())
		return -ENOSYS;
	q->udp_size = DNS_UDP_MIN;
	if (len < 12 || msg[2] & 0x80) /* too short, or an answer */
		return -EBADMSG;
	q->id = (uint16_t)(msg[0] << 8 | msg[1]);
	if (len > DNS_MSG_MAX || ldns_wire2pkt(&p, msg, len) != LDNS_STATUS_OK)
		return DNS_FORMERR;
	if (ldns_pkt_get_opcode(p) != LDNS_PACKET_QUERY)
		return DNS_NOTIMP;
	if (ldns_pkt_qdcount(p) != 1)
		return DNS_FORMERR;
	rr = ldns_rr_list_rr(ldns_pkt_question(p), 0);
	q->type = (uint16_t)ldns_rr_get_type(rr);
	q->class = (uint16_t)ldns_rr_get_class(rr);
	q->recurse = ldns_pkt_rd(p);
	q->edns = ldns_pkt_edns(p);
	if (q->edns && ldns_pkt_edns_udp_size(p) > DNS_UDP_MIN)
		q->udp_size = ldns_pkt_edns_udp_size(p);
	canon_rdf(ldns_rr_owner(rr), q->name);
	text = ldns_rdf2str(ldns_rr_owner(rr));
	if (text && strlen(text) < sizeof(q->shown))
		memcpy(q->shown, text, strlen(text) + 1);
	LDNS_FREE(text);
	return 0;
}

static ldns_rdf *record_data(const struct dns_record *r)
{
	if (r->type == DNS_CNAME)
		return name_rdf(r->target);
	return ldns_rdf_new_frm_data(r->type == DNS_A ? LDNS_RDF_TYPE_A
						      : LDNS_RDF_TYPE_AAAA,
				     r->type == DNS_A ? 4 : 16, r->addr.b);
}

static bool push_record(ldns_pkt *p, const struct dns_record *r)
{
	ldns_rr *rr = ldns_rr_new();
	ldns_rdf *owner = name_rdf(r->owner), *data = record_data(r);

	if (!rr || !owner || !data) {
		ldns_rdf_deep_free(owner);
		ldns_rdf_deep_free(data);
		ldns_rr_free(rr);
		return false;
	}
	ldns_rr_set_owner(rr, owner);
	ldns_rr_set_class(rr, LDNS_RR_CLASS_IN);
	ldns_rr_set_type(rr, (ldns_rr_type)r->type);
	ldns_rr_set_ttl(rr, r->ttl);
	ldns_rr_push_rdf(rr, data);
	if (ldns_pkt_push_rr(p, LDNS_SECTION_ANSWER, rr))
		return true;
	ldns_rr_free(rr);
	return false;
}

static bool push_question(ldns_pkt *p, const char *name, uint16_t type,
			  uint16_t class)
{
	ldns_rr *rr = ldns_rr_new();
	ldns_rdf *owner = name_rdf(name);

	if (!rr || !owner) {
		ldns_rdf_deep_free(owner);
		ldns_rr_free(rr);
		return false;
	}
	ldns_rr_set_question(rr, true);
	ldns_rr_set_owner(rr, owner);
	ldns_rr_set_type(rr, (ldns_rr_type)type);
	ldns_rr_set_class(rr, (ldns_rr_class) class);
	if (ldns_pkt_push_rr(p, LDNS_SECTION_QUESTION, rr))
		return true;
	ldns_rr_free(rr);
	return false;
}

static ssize_t to_wire(const ldns_pkt *p, uint8_t *buf, size_t limit)
{
	__attribute__((cleanup(free_wire))) uint8_t *wire = NULL;
	size_t len = 0;

	if (ldns_pkt2wire(&wire, p, &len) != LDNS_STATUS_OK)
		return -ENOMEM;
	if (len > limit)
		return -EMSGSIZE;
	memcpy(buf, wire, len);
	return (ssize_t)len;
}

static ssize_t build_reply(const struct dns_question *q, int rcode,
			   const struct dns_answer *answer, bool truncated,
			   uint8_t *buf, size_t limit)
{
	__attribute__((cleanup(free_pkt))) ldns_pkt *p = ldns_pkt_new();

	if (!p)
		return -ENOMEM;
	ldns_pkt_set_id(p, q->id);
	ldns_pkt_set_qr(p, true);
	ldns_pkt_set_rd(p, q->recurse);
	ldns_pkt_set_ra(p, true);
	ldns_pkt_set_tc(p, truncated);
	ldns_pkt_set_rcode(p, (uint8_t)rcode);
	if (q->shown[0] && !push_question(p, q->shown, q->type, q->class))
		return -ENOMEM;
	if (q->edns)
		ldns_pkt_set_edns_udp_size(p, 1232);
	for (size_t i = 0; answer && !truncated && i < answer->count; i++)
		if (!push_record(p, &answer->rec[i]))
			return -ENOMEM;
	return to_wire(p, buf, limit);
}

ssize_t dns_build_reply(const struct dns_question *q, int rcode,
			const struct dns_answer *answer, uint8_t *buf,
			size_t limit)
{
	ssize_t n;

	if (ldnslib_load())
		return -ENOSYS;
	n = build_reply(q, rcode, answer, false, buf, limit);
	return n == -EMSGSIZE ? build_reply(q, rcode, answer, true, buf, limit)
			      : n;
}

ssize_t dns_build_question(uint16_t id, const char *name, uint16_t type,
			   uint8_t *buf, size_t size)
{
	__attribute__((cleanup(free_pkt))) ldns_pkt *p = NULL;

	if (ldnslib_load())
		return -ENOSYS;
	p = ldns_pkt_new();
	if (!p)
		return -ENOMEM;
	ldns_pkt_set_id(p, id);
	ldns_pkt_set_rd(p, true);
	ldns_pkt_set_edns_udp_size(p, 1232);
	if (!push_question(p, name, type, LDNS_RR_CLASS_IN))
		return -ENOMEM;
	return to_wire(p, buf, size);
}

static bool answers(const ldns_pkt *p, uint16_t id, const char *name,
		    uint16_t type)
{
	char asked[NETHOST_SIZE];
	ldns_rr *rr;

	if (!ldns_pkt_qr(p) || ldns_pkt_id(p) != id || ldns_pkt_qdcount(p) != 1)
		return false;
	rr = ldns_rr_list_rr(ldns_pkt_question(p), 0);
	canon_rdf(ldns_rr_owner(rr), asked);
	return !strcmp(asked, name) && ldns_rr_get_type(rr) == type &&
	       ldns_rr_get_class(rr) == LDNS_RR_CLASS_IN;
}

static struct dns_record *add_record(struct dns_answer *out, const ldns_rr *rr,
				     const char *owner)
{
	struct dns_record *r;
	uint32_t ttl = ldns_rr_ttl(rr);

	if (out->count == DNS_RECORDS_MAX)
		return NULL;
	r = &out->rec[out->count];
	memset(r, 0, sizeof(*r));
	r->type = (uint16_t)ldns_rr_get_type(rr);
	r->ttl = ttl < TTL_MAX ? ttl : TTL_MAX;
	memcpy(r->owner, owner, strlen(owner) + 1);
	return r;
}

static bool is_record(const ldns_rr *rr, const char *owner, uint16_t type)
{
	char name[NETHOST_SIZE];

	if (ldns_rr_get_type(rr) != type ||
	    ldns_rr_get_class(rr) != LDNS_RR_CLASS_IN || !ldns_rr_rdf(rr, 0))
		return false;
	canon_rdf(ldns_rr_owner(rr), name);
	return !strcmp(name, owner);
}

/* The CNAME of *name, which becomes its target; false at the end. */
static bool follow(const ldns_rr_list *l, char name[NETHOST_SIZE],
		   struct dns_answer *out)
{
	for (size_t i = 0; i < ldns_rr_list_rr_count(l); i++) {
		const ldns_rr *rr = ldns_rr_list_rr(l, i);
		struct dns_record *r;

		if (!is_record(rr, name, DNS_CNAME))
			continue;
		r = add_record(out, rr, name);
		if (!r)
			return false;
		canon_rdf(ldns_rr_rdf(rr, 0), r->target);
		if (!r->target[0])
			return false;
		out->count++;
		memcpy(name, r->target, sizeof(r->target));
		return true;
	}
	return false;
}

static void addresses(const ldns_rr_list *l, const char *name, uint16_t type,
		      struct dns_answer *out)
{
	size_t want = type == DNS_A ? 4 : 16;

	for (size_t i = 0; i < ldns_rr_list_rr_count(l); i++) {
		const ldns_rr *rr = ldns_rr_list_rr(l, i);
		struct dns_record *r;
		const ldns_rdf *data;

		if (!is_record(rr, name, type))
			continue;
		data = ldns_rr_rdf(rr, 0);
		if (ldns_rdf_size(data) != want)
			continue;
		r = add_record(out, rr, name);
		if (!r)
			return;
		r->addr.family = type == DNS_A ? AF_INET : AF_INET6;
		memcpy(r->addr.b, ldns_rdf_data(data), want);
		out->count++;
	}
}

int dns_parse_answer(const uint8_t *msg, size_t len, uint16_t id,
		     const char *name, uint16_t type, struct dns_answer *out)
{
	__attribute__((cleanup(free_pkt))) ldns_pkt *p = NULL;
	char at[NETHOST_SIZE];
	const ldns_rr_list *l;

	out->count = 0;
	if (ldnslib_load())
		return -ENOSYS;
	if (len < 12 || len > DNS_MSG_MAX ||
	    ldns_wire2pkt(&p, msg, len) != LDNS_STATUS_OK ||
	    !answers(p, id, name, type))
		return -EBADMSG;
	out->rcode = ldns_pkt_get_rcode(p);
	out->truncated = ldns_pkt_tc(p);
	l = ldns_pkt_answer(p);
	memcpy(at, name, strlen(name) + 1);
	for (int i = 0; i < DNS_CHAIN_MAX && follow(l, at, out); i++)
		;
	if (type == DNS_A || type == DNS_AAAA)
		addresses(l, at, type, out);
	return 0;
}
