/*
 * trust.c - see trust.h.
 */
#include "trust.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <nettle/base64.h>
#include <nettle/sha1.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "config.h"
#include "../fs/pseudo.h"
#include "../fs/textfs.h"

#define DEBIAN_BUNDLE "/etc/ssl/certs/ca-certificates.crt"
#define DEBIAN_FOLDER "/etc/ssl/certs"

static const char *const bundles[] = {
	DEBIAN_BUNDLE,
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

/* PKCS12 or JKS: Java reads both, whatever the name. */
static const char *const java_stores[] = {
	"/etc/ssl/certs/java/cacerts",
	"/etc/pki/ca-trust/extracted/java/cacerts",
};

const char *trust_host_bundle(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bundles); i++)
		if (access(bundles[i], R_OK) == 0)
			return bundles[i];
	return NULL;
}

const char *const *trust_variables(size_t *count)
{
	static const char *const names[] = {
		"SSL_CERT_FILE=" DEBIAN_BUNDLE,
		"REQUESTS_CA_BUNDLE=" DEBIAN_BUNDLE,
		"CURL_CA_BUNDLE=" DEBIAN_BUNDLE,
		"PIP_CERT=" DEBIAN_BUNDLE,
		"GIT_SSL_CAINFO=" DEBIAN_BUNDLE,
		"CARGO_HTTP_CAINFO=" DEBIAN_BUNDLE,
		"AWS_CA_BUNDLE=" DEBIAN_BUNDLE,
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH=" DEBIAN_BUNDLE,
		"NODE_EXTRA_CA_CERTS=" TRUST_OWN_FILE,
		"DENO_CERT=" TRUST_OWN_FILE,
	};

	*count = ARRAY_SIZE(names);
	return names;
}

/* A file of the guest's tree on the host, for reading; -1: there is none. A
 * tree of --root is not trusted: its links lead nowhere but into itself. */
static int tree_open(const struct config *cfg, const char *guest)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	AUTO_CLOSE int root = open(cfg->root ? cfg->root : "/",
				   O_PATH | O_DIRECTORY | O_CLOEXEC);

	return (int)syscall(SYS_openat2, root, guest, &how, sizeof(how));
}

static void put_pem(struct strbuf *b, const uint8_t *der, size_t len)
{
	char line[BASE64_ENCODE_RAW_LENGTH(48)];

	strbuf_puts(b, "-----BEGIN CERTIFICATE-----\n");
	for (size_t i = 0; i < len; i += 48) {
		size_t n = len - i < 48 ? len - i : 48;

		base64_encode_raw(line, n, der + i);
		strbuf_add(b, line, BASE64_ENCODE_RAW_LENGTH(n));
		strbuf_putc(b, '\n');
	}
	strbuf_puts(b, "-----END CERTIFICATE-----\n");
}

/* Authorities of --net-ca: programs know them as the gateway does. */
static int add_more(const struct config *cfg, struct strbuf *b)
{
	AUTO_FREE char *path = cfg->net_ca ? realpath(cfg->net_ca, NULL) : NULL;
	int ret = path ? pseudo_read_at(AT_FDCWD, path, b) : 0;

	if (b->len && b->data[b->len - 1] != '\n')
		strbuf_putc(b, '\n');
	return ret;
}

static int mount_bundle(const struct config *cfg, struct vfs *vfs,
			const char *guest, const char *pem)
{
	AUTO_CLOSE int fd = tree_open(cfg, guest);
	struct strbuf b;
	int ret = 0;

	/* Debian's is made where there is none: the variables name it. */
	if (fd < 0 && strcmp(guest, DEBIAN_BUNDLE))
		return 0;
	strbuf_init(&b, PSEUDO_TEXT_MAX);
	if (fd >= 0)
		ret = pseudo_read_fd(fd, &b);
	if (b.len && b.data[b.len - 1] != '\n')
		strbuf_putc(&b, '\n');
	if (!ret)
		ret = add_more(cfg, &b);
	strbuf_puts(&b, pem);
	if (!ret)
		ret = textfs_mount_bytes(vfs, guest, b.data, b.len);
	strbuf_fini(&b);
	return ret;
}

/* ---- Java's key store ---- */

static void put_number(struct strbuf *b, uint64_t v, int bytes)
{
	while (bytes--)
		strbuf_putc(b, (char)(v >> 8 * bytes));
}

static void put_word(struct strbuf *b, const char *s)
{
	put_number(b, strlen(s), 2);
	strbuf_puts(b, s);
}

static void put_entry(struct strbuf *b, unsigned nr, const char *der,
		      size_t len)
{
	enum { TRUSTED = 2 };
	char alias[16];

	snprintf(alias, sizeof(alias), "ca%u", nr);
	put_number(b, TRUSTED, 4);
	put_word(b, alias);
	put_number(b, 0, 8); /* when it was made */
	put_word(b, "X.509");
	put_number(b, len, 4);
	strbuf_add(b, der, len);
}

/* The next certificate of a PEM text as DER: its length, 0 at the end. */
static size_t next_pem(const char **text, uint8_t *der, size_t size)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----";
	struct base64_decode_ctx ctx;
	const char *p, *end;
	size_t n = size;

	for (;;) {
		p = strstr(*text, begin);
		end = p ? strstr(p, "-----END CERTIFICATE-----") : NULL;
		if (!end)
			return 0;
		p += sizeof(begin) - 1;
		*text = end;
		base64_decode_init(&ctx);
		n = size;
		if (BASE64_DECODE_LENGTH((size_t)(end - p)) <= size &&
		    base64_decode_update(&ctx, &n, der, (size_t)(end - p), p) &&
		    base64_decode_final(&ctx))
			return n;
	}
}

static int mount_java(const struct config *cfg, struct vfs *vfs,
		      const char *guest, const void *der, size_t len)
{
	enum { CERT_MAX = 16384 };
	/* the password that all have, as Java's digest takes it */
	static const char key[] = "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite";
	AUTO_CLOSE int there = tree_open(cfg, guest);
	AUTO_CLOSE int from = tree_open(cfg, DEBIAN_BUNDLE);
	AUTO_FREE uint8_t *one = xmalloc(CERT_MAX);
	uint8_t digest[SHA1_DIGEST_SIZE];
	struct strbuf pem, b;
	struct sha1_ctx sha;
	unsigned count = 1;
	const char *p;
	int ret;

	if (there < 0)
		return 0;
	strbuf_init(&pem, PSEUDO_TEXT_MAX);
	strbuf_init(&b, PSEUDO_TEXT_MAX);
	if (from >= 0 && pseudo_read_fd(from, &pem))
		strbuf_reset(&pem);
	ret = add_more(cfg, &pem);
	put_number(&b, 0xfeedfeed, 4);
	put_number(&b, 2, 4);
	put_number(&b, 0, 4); /* filled in below */
	put_entry(&b, 0, der, len);
	p = pem.data ? pem.data : "";
	for (size_t n; (n = next_pem(&p, one, CERT_MAX));)
		put_entry(&b, count++, (const char *)one, n);
	for (int i = 0; i < 4; i++)
		b.data[8 + i] = (char)(count >> 8 * (3 - i));
	sha1_init(&sha);
	sha1_update(&sha, sizeof(key) - 1, (const uint8_t *)key);
	sha1_update(&sha, b.len, (const uint8_t *)b.data);
	sha1_digest(&sha, sizeof(digest), digest);
	strbuf_add(&b, digest, sizeof(digest));
	if (!ret)
		ret = textfs_mount_bytes(vfs, guest, b.data, b.len);
	strbuf_fini(&b);
	strbuf_fini(&pem);
	return ret;
}

int trust_mounts(const struct config *cfg, struct vfs *vfs, const void *der,
		 size_t len, uint32_t hash)
{
	char folder[64];
	struct strbuf pem;
	int ret = 0;

	strbuf_init(&pem, 0);
	put_pem(&pem, der, len);
	for (size_t i = 0; !ret && i < ARRAY_SIZE(bundles); i++)
		ret = mount_bundle(cfg, vfs, bundles[i], pem.data);
	snprintf(folder, sizeof(folder), DEBIAN_FOLDER "/%08x.0", hash);
	if (!ret)
		ret = textfs_mount(vfs, folder, pem.data);
	if (!ret)
		ret = textfs_mount(vfs, TRUST_OWN_FILE, pem.data);
	for (size_t i = 0; !ret && i < ARRAY_SIZE(java_stores); i++)
		ret = mount_java(cfg, vfs, java_stores[i], der, len);
	strbuf_fini(&pem);
	return ret;
}
