/*
 * config_http.c - the options about requests and secrets. Texts are checked
 * here by the readers that the gateway uses, and kept as they are; values of
 * secrets are read by the run itself (net/secret.h).
 */
#include "config_priv.h"

#include "../../net/allow.h"
#include "../../net/httprule.h"

static void keep(const struct run_options *o, struct config_texts *t,
		 const char *value)
{
	t->text = realloc(t->text, (t->count + 1) * sizeof(*t->text));
	t->origin = realloc(t->origin, (t->count + 1) * sizeof(*t->origin));
	BUG_ON(!t->text || !t->origin);
	t->origin[t->count] = o->entry ? xstrdup(o->entry->origin) : NULL;
	t->text[t->count++] = xstrdup(value);
}

static int bad(struct strbuf *err, const char *option, const char *value,
	       const struct http_error *e)
{
	strbuf_printf(err, "--%s ", option);
	strbuf_visible(err, value, strlen(value));
	strbuf_printf(err, ": at character %zu, expected %s", e->at + 1,
		      e->expected);
	return -EINVAL;
}

/* The host's own loopback has a name inside; its address would mean the
 * sandbox's. */
static int not_loopback(const char *value, const struct http_rule *r,
			struct strbuf *err)
{
	struct netaddr a;

	if (r->kind != HTTP_HOST_NAME ||
	    (strcmp(r->host, "localhost") &&
	     (netaddr_parse(r->host, strlen(r->host), &a) ||
	      netaddr_kind(&a) != NETADDR_LOOPBACK)))
		return 0;
	strbuf_puts(err, "--http-allow ");
	strbuf_visible(err, value, strlen(value));
	strbuf_puts(err, ": that is the sandbox's own loopback, always open; "
			 "the host's is " ALLOW_HOST_INTERNAL);
	return -EINVAL;
}

/* The host becomes reachable at the rule's ports. */
int opt_http_allow(void *t, const char *value, struct strbuf *err)
{
	struct run_options *o = t;
	struct http_policy scratch = {0};
	struct http_error e;
	AUTO_FREE char *net = NULL;
	int ret = http_rule_add(&scratch, value, &e);

	if (ret) {
		bad(err, "http-allow", value, &e);
	} else {
		net = http_rule_net(&scratch.rules[0]);
		ret = not_loopback(value, &scratch.rules[0], err);
	}
	http_policy_fini(&scratch);
	if (!ret)
		ret = config_add_net(o, true, net, err);
	if (!ret)
		keep(o, &o->cfg.http, value);
	return ret;
}

int opt_net_ca(void *t, const char *value, struct strbuf *err)
{
	struct run_options *o = t;
	char *path = config_absolute(o, value);

	if (access(path, R_OK) < 0) {
		strbuf_puts(err, "--net-ca ");
		strbuf_visible(err, value, strlen(value));
		strbuf_printf(err, ": %s", strerror(errno));
		free(path);
		return -EINVAL;
	}
	free(o->cfg.net_ca);
	o->cfg.net_ca = path;
	return 0;
}

/* The text may be a command; what it says is not for messages. */
int opt_secret(void *t, const char *value, struct strbuf *err)
{
	struct config *cfg = t;
	const char *what = secret_check(value);

	if (what) {
		strbuf_printf(err, "--secret: expected %s", what);
		return -EINVAL;
	}
	keep(t, &cfg->secrets, value);
	return 0;
}

int opt_inject(void *t, const char *value, struct strbuf *err)
{
	struct config *cfg = t;
	struct http_policy scratch = {0};
	struct http_error e;
	int ret = http_inject_add(&scratch, value, &e);

	http_policy_fini(&scratch);
	if (ret)
		return bad(err, "inject", value, &e);
	keep(t, &cfg->injects, value);
	return 0;
}

int opt_secret_env(void *t, const char *value, struct strbuf *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	struct config *cfg = t;
	size_t n = strspn(value, letters);

	if (!n || (*value >= '0' && *value <= '9') || value[n] != '=' ||
	    !secret_name_ok(value + n + 1)) {
		strbuf_puts(err, "--secret-env ");
		strbuf_visible(err, value, strlen(value));
		strbuf_puts(err, ": VAR=NAME was expected, NAME of a --secret");
		return -EINVAL;
	}
	keep(t, &cfg->secret_env, value);
	return 0;
}

static bool is_secret(const struct config *cfg, const char *name,
		      const char *option)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < cfg->secrets.count; i++)
		if (strncmp(cfg->secrets.text[i], name, n) == 0 &&
		    cfg->secrets.text[i][n] == '=')
			return true;
	log_info("%s: there is no --secret %s=FROM", option, name);
	return false;
}

/* May a rule reach it? Otherwise the injection would never be used. */
static bool is_reachable(const struct config *cfg, const struct http_inject *in)
{
	const char *name = in->host;
	const struct allow_query q = {.proto = ALLOW_TCP,
				      .names = &name,
				      .nnames = 1,
				      .port = in->port};
	struct allow rules = {0};
	struct allow_error e;
	bool ok;

	for (size_t i = 0; i < cfg->nnet; i++)
		BUG_ON(allow_add(&rules, cfg->net[i].allow, cfg->net[i].text,
				 &e));
	ok = allow_match(&rules, &q).allowed;
	allow_fini(&rules);
	if (!ok)
		log_info("--inject: no rule allows %s at port %u; add "
			 "--net-allow %s:%u, or an --http-allow",
			 in->host, in->port, in->host, in->port);
	return ok;
}

/* A variable that is a secret's source is not to be seen inside. */
static bool is_shown(const struct run_options *o, const char *secret)
{
	const char *from = strchr(secret, '=') + 1;

	if (strncmp(from, "env:", 4))
		return false;
	for (size_t i = 0; i < o->nenv; i++) {
		if (strcmp(o->env[i], from + 4))
			continue;
		log_info("-e %s would show a secret inside; --secret-env "
			 "%s=%.*s gives a placeholder",
			 from + 4, from + 4, (int)strcspn(secret, "="), secret);
		return true;
	}
	return false;
}

int config_http(const struct run_options *o)
{
	const struct config *cfg = &o->cfg;
	struct http_policy p = {0};
	struct http_error e;
	bool ok = true;

	for (size_t i = 0; ok && i < cfg->injects.count; i++) {
		BUG_ON(http_inject_add(&p, cfg->injects.text[i], &e));
		ok = is_secret(cfg, p.injects[i].secret_name, "--inject") &&
		     is_reachable(cfg, &p.injects[i]);
	}
	for (size_t i = 0; ok && i < cfg->secret_env.count; i++)
		ok = is_secret(cfg, strchr(cfg->secret_env.text[i], '=') + 1,
			       "--secret-env");
	for (size_t i = 0; ok && i < cfg->secrets.count; i++)
		ok = !is_shown(o, cfg->secrets.text[i]);
	http_policy_fini(&p);
	return ok ? 0 : -EINVAL;
}

static void texts_fini(struct config_texts *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->text[i]);
	for (size_t i = 0; i < t->count; i++)
		free(t->origin[i]);
	free(t->text);
	free(t->origin);
}

void config_http_fini(struct config *cfg)
{
	texts_fini(&cfg->http);
	texts_fini(&cfg->secrets);
	texts_fini(&cfg->injects);
	texts_fini(&cfg->secret_env);
	free(cfg->net_ca);
}
