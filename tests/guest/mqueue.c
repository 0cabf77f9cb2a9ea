/* Message queues of POSIX and of System V, semaphores and segments. */
#include "guest.h"
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

static mqd_t queue(const char *name, int flags)
{
	struct mq_attr a = {.mq_maxmsg = 4, .mq_msgsize = 64};

	return mq_open(name, flags | O_CREAT | O_EXCL, 0600, &a);
}

TEST(queue_of_posix_between_processes)
{
	char name[64], b[64];
	unsigned prio;

	snprintf(name, sizeof(name), "/cloche-test-%d", getpid());
	mqd_t q = OK(queue(name, O_RDWR));

	ERR(queue(name, O_RDWR), EEXIST);
	ERR(mq_open("/cloche-test-none", O_RDONLY), ENOENT);
	ERR(mq_open("/two/names", O_RDONLY), EACCES);
	pid_t k = CHILD({
		mqd_t w = OK(mq_open(name, O_WRONLY));
		OK(mq_send(w, "low", 3, 1));
		OK(mq_send(w, "high", 4, 9));
	});
	EQ(wait_for(k), 0);
	EQ(mq_receive(q, b, sizeof(b), &prio), 4);
	EQ(prio, 9);
	EQ(mq_receive(q, b, sizeof(b), &prio), 3);
	ERR(mq_receive(q, b, 1, &prio), EMSGSIZE);
	OK(mq_unlink(name));
	ERR(mq_unlink(name), ENOENT);
	OK(mq_close(q));
}

TEST(queue_of_posix_notifies_and_times_out)
{
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL,
			      .sigev_signo = SIGUSR1};
	struct timespec past = {1, 0};
	char name[64], b[64];
	sigset_t set;
	int sig;

	snprintf(name, sizeof(name), "/cloche-test-%d", getpid());
	mqd_t q = OK(queue(name, O_RDWR | O_NONBLOCK));
	OK(mq_unlink(name));
	ERR(mq_receive(q, b, sizeof(b), NULL), EAGAIN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	OK(sigprocmask(SIG_BLOCK, &set, NULL));
	OK(mq_notify(q, &ev));
	ERR(mq_notify(q, &ev), EBUSY);
	OK(mq_send(q, "x", 1, 0));
	EQ(sigwait(&set, &sig), 0);
	EQ(sig, SIGUSR1);
	EQ(mq_receive(q, b, sizeof(b), NULL), 1);
	struct mq_attr block = {0};
	OK(mq_setattr(q, &block, NULL));
	ERR(mq_timedreceive(q, b, sizeof(b), NULL, &past), ETIMEDOUT);
}

TEST(system_v_objects)
{
	struct {
		long type;
		char text[8];
	} m = {1, "hello"};
	int q = OK(msgget(IPC_PRIVATE, 0600));
	int s = OK(semget(IPC_PRIVATE, 1, 0600));
	int shm = OK(shmget(IPC_PRIVATE, 4096, 0600));
	struct sembuf up = {0, 1, 0};
	struct shmid_ds ds;
	char *p = OK(shmat(shm, NULL, 0));

	EQ(wait_for(CHILD(OK(msgsnd(q, &m, 6, 0)); OK(semop(s, &up, 1));
			  strcpy(p, "shared"))),
	   0);
	EQ(msgrcv(q, &m, 8, 1, IPC_NOWAIT), 6);
	EQ(semctl(s, 0, GETVAL), 1);
	STREQ(p, "shared");
	OK(shmctl(shm, IPC_STAT, &ds));
	EQ(ds.shm_nattch, 1);
	ds.shm_perm.mode = 0640;
	OK(shmctl(shm, IPC_SET, &ds));
	OK(msgctl(q, IPC_RMID, NULL));
	OK(semctl(s, 0, IPC_RMID));
	OK(shmctl(shm, IPC_RMID, NULL));
	OK(shmdt(p));
	ERR(msgsnd(q, &m, 1, 0), EINVAL);
}
