/*
 * fork.c - a new kept sandbox that begins with what another one has; see
 * session.h.
 *
 * It is made as the other was: from the same options, in the same directory,
 * with the same environment, all of which the other's sentry tells. The new
 * sentry then takes over the overlays, while it is still alone (config.seed).
 * The request is sent before the sentry starts, so that both work at once. The
 * connection stays open for its life: by its end the other learns of that.
 *
 * What the other says is read like a guest's word: by command_parse and
 * snapshot_adopt.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "../../fs/snapshot.h"
#include "../baredir.h"
#include "../command.h"
#include "control.h"
#include "session.h"

enum { LAYERS_MAX = 65536 };
#define BYTES_MAX ((off_t)1 << 30)

int session_fork_ask(const char *name, int *fd, struct command *made,
		     bool *audited)
{
	AUTO_CLOSE int block = -1;
	AUTO_CLOSE int sock = -1;
	struct control_msg m;
	int ret = session_connect(name, &sock);

	if (ret)
		return ret;
	ret = session_ask(sock, name, "made", NULL, &m);
	if (ret)
		return ret;
	block = control_take_fd(&m, 0);
	*audited = control_flag(m.root, "audited");
	control_msg_fini(&m);
	ret = block < 0 ? -EPROTO : command_read(block, made);
	if (ret) {
		log_info("%s does not say how it was made: %s", name,
			 strerror(-ret));
		return ret;
	}
	*fd = fd_take(&sock);
	return 0;
}

/* The layers' descriptors, owned. */
static int recv_layers(int fd, int *fds, size_t count)
{
	size_t n = 0;

	while (n < count) {
		struct control_msg m;
		int ret = control_recv(fd, &m, true, 0);

		if (!ret && !m.nfds) {
			control_msg_fini(&m);
			ret = -EPROTO;
		}
		for (unsigned i = 0; !ret && i < m.nfds && n < count; i++)
			fds[n++] = control_take_fd(&m, i);
		if (ret) {
			while (n--)
				close(fds[n]);
			return ret;
		}
		control_msg_fini(&m);
	}
	return 0;
}

static int adopt(struct vfs *vfs, int bytes, int *fds, size_t count)
{
	AUTO_FREE char *data = NULL;
	struct stat st;

	if (fstat(bytes, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_size <= BYTES_MAX)
		data = malloc((size_t)st.st_size);
	if (data && pread(bytes, data, (size_t)st.st_size, 0) == st.st_size)
		return snapshot_adopt(vfs, data, (size_t)st.st_size, fds,
				      count);
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	return -EBADMSG;
}

/* A bare sandbox's directory must not be swept away while we need it. */
static void hold_places(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		baredir_hold(fds[i]);
}

static int seed(const struct config *cfg, struct vfs *vfs)
{
	AUTO_CLOSE int bytes = -1;
	AUTO_FREE int *fds = NULL;
	struct control_msg m;
	const char *error;
	size_t count;
	int ret = control_recv(cfg->seed_fd, &m, true, 0);

	if (ret) {
		log_host(ret, "the sandbox to fork does not answer");
		return ret;
	}
	error = control_text(m.root, "error", NULL);
	if (error)
		log_info("%s: %s", cfg->seed_name, error);
	bytes = control_take_fd(&m, 0);
	count = (size_t)control_number(m.root, "layers", 0);
	control_msg_fini(&m);
	if (error || bytes < 0 || count > LAYERS_MAX)
		return -EPROTO;
	fds = xcalloc(count + 1, sizeof(*fds));
	ret = recv_layers(cfg->seed_fd, fds, count);
	if (!ret) {
		hold_places(fds, count);
		ret = adopt(vfs, bytes, fds, count);
	}
	if (ret == -ESTALE)
		log_info("the host's directories are not those that %s shows "
			 "any more",
			 cfg->seed_name);
	else if (ret == -EBADMSG)
		log_info("%s was started by another version of cloche",
			 cfg->seed_name);
	else if (ret)
		log_host(ret, "taking over what %s has", cfg->seed_name);
	return ret;
}

int session_fork(struct config *cfg, const char *from, const char *label,
		 int fd)
{
	json_t *req = json_pack("{s:s,s:o,s:s}", "op", "fork", "label",
				control_string(label ? label : ""), "name",
				cfg->name);
	int ret = control_send(fd, req, NULL, 0, false, 0);

	json_decref(req);
	if (ret) {
		log_host(ret, "asking %s", from);
		return 125;
	}
	cfg->seed = seed;
	cfg->seed_fd = fd;
	cfg->seed_name = from;
	return session_create(cfg);
}
