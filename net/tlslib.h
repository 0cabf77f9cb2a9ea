/*
 * tlslib.h - libssl and libcrypto, loaded when a gateway that opens TLS is
 * started: linked, they would cost every start some milliseconds.
 *
 * Include it in place of openssl's headers; their functions are then
 * pointers, good after tlslib_load.
 */
#ifndef CLOCHE_TLSLIB_H
#define CLOCHE_TLSLIB_H

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "../sentry/base/base.h"

#define TLSLIB_CRYPTO(X)                   \
	X(ASN1_INTEGER_set_uint64)         \
	X(BIO_free)                        \
	X(BIO_new_mem_buf)                 \
	X(ERR_clear_error)                 \
	X(ERR_peek_last_error)             \
	X(ERR_reason_error_string)         \
	X(EVP_PKEY_Q_keygen)               \
	X(EVP_PKEY_free)                   \
	X(EVP_sha256)                      \
	X(PEM_read_bio_X509)               \
	X(X509V3_EXT_nconf_nid)            \
	X(X509V3_set_ctx)                  \
	X(X509_EXTENSION_free)             \
	X(X509_NAME_add_entry_by_txt)      \
	X(X509_STORE_free)                 \
	X(X509_STORE_add_cert)             \
	X(X509_STORE_new)                  \
	X(X509_STORE_up_ref)               \
	X(X509_VERIFY_PARAM_set1_host)     \
	X(X509_VERIFY_PARAM_set1_ip_asc)   \
	X(X509_VERIFY_PARAM_set_hostflags) \
	X(X509_add_ext)                    \
	X(X509_free)                       \
	X(X509_get_serialNumber)           \
	X(X509_get_subject_name)           \
	X(X509_getm_notAfter)              \
	X(X509_getm_notBefore)             \
	X(X509_gmtime_adj)                 \
	X(X509_new)                        \
	X(X509_set_issuer_name)            \
	X(X509_set_pubkey)                 \
	X(X509_set_version)                \
	X(X509_sign)                       \
	X(X509_subject_name_hash)          \
	X(X509_verify_cert_error_string)   \
	X(i2d_X509)

#define TLSLIB_SSL(X)                 \
	X(OPENSSL_init_ssl)           \
	X(SSL_CTX_ctrl)               \
	X(SSL_CTX_free)               \
	X(SSL_CTX_new)                \
	X(SSL_CTX_set_alpn_protos)    \
	X(SSL_CTX_set_alpn_select_cb) \
	X(SSL_CTX_set_cert_store)     \
	X(SSL_CTX_set_cipher_list)    \
	X(SSL_CTX_set_options)        \
	X(SSL_CTX_set_verify)         \
	X(SSL_ctrl)                   \
	X(SSL_do_handshake)           \
	X(SSL_free)                   \
	X(SSL_get0_param)             \
	X(SSL_get_error)              \
	X(SSL_get_servername)         \
	X(SSL_get_verify_result)      \
	X(SSL_new)                    \
	X(SSL_read)                   \
	X(SSL_set_accept_state)       \
	X(SSL_set_connect_state)      \
	X(SSL_set_fd)                 \
	X(SSL_shutdown)               \
	X(SSL_use_PrivateKey)         \
	X(SSL_use_certificate)        \
	X(SSL_write)                  \
	X(TLS_client_method)          \
	X(TLS_server_method)

struct tlslib {
#define TLSLIB_MEMBER(f) __typeof__(&f) f;
	TLSLIB_CRYPTO(TLSLIB_MEMBER)
	TLSLIB_SSL(TLSLIB_MEMBER)
#undef TLSLIB_MEMBER
};

extern struct tlslib tlslib;

/* 0, or -ENOSYS after a message that names what is missing. */
int MUST_CHECK tlslib_load(void);

#ifndef TLSLIB_NO_NAMES
#define ASN1_INTEGER_set_uint64		tlslib.ASN1_INTEGER_set_uint64
#define ERR_clear_error			tlslib.ERR_clear_error
#define ERR_peek_last_error		tlslib.ERR_peek_last_error
#define ERR_reason_error_string		tlslib.ERR_reason_error_string
#define EVP_PKEY_Q_keygen		tlslib.EVP_PKEY_Q_keygen
#define EVP_PKEY_free			tlslib.EVP_PKEY_free
#define EVP_sha256			tlslib.EVP_sha256
#define X509V3_EXT_nconf_nid		tlslib.X509V3_EXT_nconf_nid
#define X509V3_set_ctx			tlslib.X509V3_set_ctx
#define X509_EXTENSION_free		tlslib.X509_EXTENSION_free
#define X509_NAME_add_entry_by_txt	tlslib.X509_NAME_add_entry_by_txt
#define X509_STORE_free			tlslib.X509_STORE_free
#define X509_STORE_add_cert		tlslib.X509_STORE_add_cert
#define BIO_free			tlslib.BIO_free
#define BIO_new_mem_buf			tlslib.BIO_new_mem_buf
#define PEM_read_bio_X509		tlslib.PEM_read_bio_X509
#define X509_STORE_new			tlslib.X509_STORE_new
#define X509_STORE_up_ref		tlslib.X509_STORE_up_ref
#define X509_VERIFY_PARAM_set1_host	tlslib.X509_VERIFY_PARAM_set1_host
#define X509_VERIFY_PARAM_set1_ip_asc	tlslib.X509_VERIFY_PARAM_set1_ip_asc
#define X509_VERIFY_PARAM_set_hostflags tlslib.X509_VERIFY_PARAM_set_hostflags
#define X509_add_ext			tlslib.X509_add_ext
#define X509_free			tlslib.X509_free
#define X509_get_serialNumber		tlslib.X509_get_serialNumber
#define X509_get_subject_name		tlslib.X509_get_subject_name
#define X509_getm_notAfter		tlslib.X509_getm_notAfter
#define X509_getm_notBefore		tlslib.X509_getm_notBefore
#define X509_gmtime_adj			tlslib.X509_gmtime_adj
#define X509_new			tlslib.X509_new
#define X509_set_issuer_name		tlslib.X509_set_issuer_name
#define X509_set_pubkey			tlslib.X509_set_pubkey
#define X509_set_version		tlslib.X509_set_version
#define X509_sign			tlslib.X509_sign
#define X509_subject_name_hash		tlslib.X509_subject_name_hash
#define X509_verify_cert_error_string	tlslib.X509_verify_cert_error_string
#define i2d_X509			tlslib.i2d_X509
#define OPENSSL_init_ssl		tlslib.OPENSSL_init_ssl
#define SSL_CTX_ctrl			tlslib.SSL_CTX_ctrl
#define SSL_CTX_free			tlslib.SSL_CTX_free
#define SSL_CTX_new			tlslib.SSL_CTX_new
#define SSL_CTX_set_alpn_protos		tlslib.SSL_CTX_set_alpn_protos
#define SSL_CTX_set_alpn_select_cb	tlslib.SSL_CTX_set_alpn_select_cb
#define SSL_CTX_set_cert_store		tlslib.SSL_CTX_set_cert_store
#define SSL_CTX_set_cipher_list		tlslib.SSL_CTX_set_cipher_list
#define SSL_CTX_set_options		tlslib.SSL_CTX_set_options
#define SSL_CTX_set_verify		tlslib.SSL_CTX_set_verify
#define SSL_ctrl			tlslib.SSL_ctrl
#define SSL_do_handshake		tlslib.SSL_do_handshake
#define SSL_free			tlslib.SSL_free
#define SSL_get0_param			tlslib.SSL_get0_param
#define SSL_get_error			tlslib.SSL_get_error
#define SSL_get_servername		tlslib.SSL_get_servername
#define SSL_get_verify_result		tlslib.SSL_get_verify_result
#define SSL_new				tlslib.SSL_new
#define SSL_read			tlslib.SSL_read
#define SSL_set_accept_state		tlslib.SSL_set_accept_state
#define SSL_set_connect_state		tlslib.SSL_set_connect_state
#define SSL_set_fd			tlslib.SSL_set_fd
#define SSL_shutdown			tlslib.SSL_shutdown
#define SSL_use_PrivateKey		tlslib.SSL_use_PrivateKey
#define SSL_use_certificate		tlslib.SSL_use_certificate
#define SSL_write			tlslib.SSL_write
#define TLS_client_method		tlslib.TLS_client_method
#define TLS_server_method		tlslib.TLS_server_method
#endif

#endif
