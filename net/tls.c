/*
 * tls.c - see tls.h.
 */
#include "tls.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include "../sentry/base/strbuf.h"

enum { AT_ONCE = 4 };

struct tls {
	struct ca *ca;
	SSL_CTX *server, *client;
	X509_STORE *store;
	struct strbuf bundle; /* PEM, until it is loaded */
	BIO *left;	      /* of it; NULL: all is loaded */
};

struct ca *tls_ca(struct tls *t)
{
	return t->ca;
}

/* HTTP/1.1 of what the guest offers; who offers only others is refused. */
static int choose_alpn(SSL *ssl UNUSED, const unsigned char **out,
		       unsigned char *outlen, const unsigned char *in,
		       unsigned int inlen, void *arg UNUSED)
{
	for (unsigned int i = 0; i < inlen; i += 1u + in[i]) {
		if (in[i] != 8 || i + 9 > inlen ||
		    memcmp(in + i + 1, "http/1.1", 8))
			continue;
		*out = in + i + 1;
		*outlen = 8;
		return SSL_TLSEXT_ERR_OK;
	}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *context(const SSL_METHOD *method)
{
	SSL_CTX *c = SSL_CTX_new(method);

	if (!c)
		return NULL;
	SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
				       SSL_OP_NO_COMPRESSION);
	SSL_CTX_ctrl(c, SSL_CTRL_MODE,
		     SSL_MODE_ENABLE_PARTIAL_WRITE |
			     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
			     SSL_MODE_RELEASE_BUFFERS,
		     NULL);
	SSL_CTX_ctrl(c, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
	SSL_CTX_ctrl(c, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	SSL_CTX_set_cipher_list(c, "DEFAULT:!PSK:!SRP:@SECLEVEL=2");
	return c;
}

/* Appends a file of certificates; asked: for by an option. */
static int read_bundle(struct strbuf *b, const char *path, bool asked)
{
	AUTO_CLOSE int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	size_t before = b->len;
	char chunk[16384];
	ssize_t n;

	while (fd >= 0 && (n = read(fd, chunk, sizeof(chunk))) > 0)
		strbuf_add(b, chunk, (size_t)n);
	strbuf_putc(b, '\n');
	if (strstr(b->data + before, "-----BEGIN CERTIFICATE-----") || !asked)
		return 0;
	log_warn("--net-ca %s: there are no certificates in it", path);
	return -EINVAL;
}

static int make_client(struct tls *t, const char *bundle, const char *more)
{
	static const unsigned char alpn[] = "\x08http/1.1";
	int ret;

	strbuf_init(&t->bundle, 0);
	ret = read_bundle(&t->bundle, bundle, false);
	if (!ret)
		ret = read_bundle(&t->bundle, more, more);
	if (ret)
		return ret;
	if (t->bundle.len < 3) {
		log_warn("no certificates of authorities were found here, so "
			 "no server could be verified; install "
			 "ca-certificates, or give --net-ca FILE");
		return -ENOENT;
	}
	t->left = BIO_new_mem_buf(t->bundle.data, (int)t->bundle.len);
	t->store = X509_STORE_new();
	t->client = context(TLS_client_method());
	if (!t->left || !t->store || !t->client)
		return -ENOMEM;
	SSL_CTX_set_cert_store(t->client, t->store); /* takes it */
	SSL_CTX_set_verify(t->client, SSL_VERIFY_PEER, NULL);
	/* returns 0 when it worked */
	return SSL_CTX_set_alpn_protos(t->client, alpn, sizeof(alpn) - 1) ? -EIO
									  : 0;
}

bool tls_load(struct tls *t)
{
	X509 *x;

	if (!t->left)
		return false;
	for (int i = 0; i < AT_ONCE; i++) {
		x = PEM_read_bio_X509(t->left, NULL, NULL, NULL);
		if (x) {
			X509_STORE_add_cert(t->store, x);
			X509_free(x);
			continue;
		}
		/* One that cannot be read ends it: fewer are trusted. */
		BIO_free(t->left);
		t->left = NULL;
		ERR_clear_error();
		strbuf_fini(&t->bundle);
		return false;
	}
	return true;
}

int tls_init(const char *bundle, const char *more, struct tls **out)
{
	struct tls *t = xcalloc(1, sizeof(*t));
	int ret = tlslib_load();

	/* openssl.cnf is not ours to obey, and its modules not to load. */
	if (!ret && !OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL))
		ret = -EIO;
	if (!ret)
		ret = ca_new(&t->ca);
	if (!ret)
		ret = make_client(t, bundle, more);
	if (!ret)
		t->server = context(TLS_server_method());
	if (!ret && !t->server)
		ret = -EIO;
	if (ret)
		return ret;
	SSL_CTX_set_alpn_select_cb(t->server, choose_alpn, NULL);
	*out = t;
	return 0;
}

static int side_new(SSL_CTX *ctx, struct tls_side *s)
{
	s->ready = false;
	s->ssl = SSL_new(ctx);
	if (!s->ssl || !SSL_set_fd(s->ssl, s->fd))
		return -ENOMEM;
	return 0;
}

int tls_serve(struct tls *t, struct tls_side *s, const char *host)
{
	X509 *leaf = ca_leaf(t->ca, host);
	int ret = side_new(t->server, s);

	if (ret)
		return ret;
	if (!leaf || SSL_use_certificate(s->ssl, leaf) != 1 ||
	    SSL_use_PrivateKey(s->ssl, ca_leaf_key(t->ca)) != 1)
		return -EIO;
	SSL_set_accept_state(s->ssl);
	return 0;
}

int tls_join(struct tls *t, struct tls_side *s, const char *host)
{
	X509_VERIFY_PARAM *param;
	struct netaddr a;
	int ret = side_new(t->client, s);

	if (ret)
		return ret;
	while (tls_load(t))
		;
	param = SSL_get0_param(s->ssl);
	X509_VERIFY_PARAM_set_hostflags(param,
					X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (!netaddr_parse(host, strlen(host), &a)) {
		if (!X509_VERIFY_PARAM_set1_ip_asc(param, host))
			return -EIO;
	} else if (!X509_VERIFY_PARAM_set1_host(param, host, 0) ||
		   !SSL_ctrl(s->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
			     TLSEXT_NAMETYPE_host_name,
			     (void *)(uintptr_t)host)) {
		return -EIO;
	}
	SSL_set_connect_state(s->ssl);
	return 0;
}

void tls_fini(struct tls_side *s)
{
	if (s->ssl)
		SSL_free(s->ssl);
	s->ssl = NULL;
}

static const char *failure(const struct tls_side *s)
{
	long verify = SSL_get_verify_result(s->ssl);
	unsigned long e = ERR_peek_last_error();
	const char *text = e ? ERR_reason_error_string(e) : NULL;

	if (verify != X509_V_OK)
		return X509_verify_cert_error_string(verify);
	return text ? text : "the connection ended";
}

bool tls_unknown_issuer(const struct tls_side *s)
{
	switch (s->ssl ? SSL_get_verify_result(s->ssl) : X509_V_OK) {
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
		return true;
	default:
		return false;
	}
}

int tls_handshake(struct tls_side *s, const char **why)
{
	int ret, err;

	if (s->ready || !s->ssl) {
		s->ready = true;
		return 0;
	}
	ERR_clear_error();
	ret = SSL_do_handshake(s->ssl);
	if (ret == 1) {
		s->ready = true;
		return 0;
	}
	err = SSL_get_error(s->ssl, ret);
	if (err == SSL_ERROR_WANT_READ || err == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	*why = failure(s);
	return -EPROTO;
}

const char *tls_server_name(const struct tls_side *s)
{
	return SSL_get_servername(s->ssl, TLSEXT_NAMETYPE_host_name);
}

static ssize_t outcome(struct tls_side *s, int ret)
{
	switch (SSL_get_error(s->ssl, ret)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		return -ECONNRESET;
	}
}

ssize_t tls_read(struct tls_side *s, void *buf, size_t len)
{
	ssize_t n;
	int ret;

	if (!s->ssl) {
		n = recv(s->fd, buf, len, MSG_DONTWAIT);
		return n < 0 ? -errno : n;
	}
	ERR_clear_error();
	ret = SSL_read(s->ssl, buf, (int)len);
	return ret > 0 ? ret : outcome(s, ret);
}

ssize_t tls_write(struct tls_side *s, const void *buf, size_t len)
{
	ssize_t n;
	int ret;

	if (!s->ssl) {
		n = send(s->fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		return n < 0 ? -errno : n;
	}
	ERR_clear_error();
	ret = SSL_write(s->ssl, buf, (int)len);
	return ret > 0 ? ret : outcome(s, ret);
}

void tls_end_writing(struct tls_side *s)
{
	if (s->ssl && s->ready) {
		ERR_clear_error();
		SSL_shutdown(s->ssl);
	}
	shutdown(s->fd, SHUT_WR);
}
