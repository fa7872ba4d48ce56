/* A resource domain: objects that one thread uses, for high bandwidth.
 *
 *     cc -std=c99 -Wall -Wextra resource_domain.c -o resource_domain $(pkg-config --cflags --libs librdmaqos libibverbs)
 *     ./resource_domain DEVICE
 *
 * The domain is made first, then a completion queue in it, then a queue pair that uses that queue; they end in the reverse
 * order, and a domain in which something exists says EBUSY. The thread model is a promise of the program: with it the
 * provider leaves its locks out. The message model is a suggestion, and what was achieved is printed.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdmaqos.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const thread_models[] = {"safe", "unsafe", "single"};
static const char *const message_models[] = {"default", "low latency", "high bandwidth", "forced low latency"};

static struct ibv_context *open_device(const char *name)
{
    struct ibv_context *context = NULL;
    struct ibv_device **devices = ibv_get_device_list(NULL);
    for (struct ibv_device **each = devices; each != NULL && *each != NULL; ++each)
        if (strcmp(ibv_get_device_name(*each), name) == 0)
            context = ibv_open_device(*each);
    if (devices != NULL)
        ibv_free_device_list(devices);
    return context;
}

static void check(int result, const char *what)
{
    if (result < 0) {
        fprintf(stderr, "%s: %s: %s\n", what, strerror(-result), rdmaqos_last_error());
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct ibv_context *context = argc == 2 ? open_device(argv[1]) : NULL;
    struct ibv_pd *pd = context != NULL ? ibv_alloc_pd(context) : NULL;
    struct rdmaqos_domain *domain;
    struct rdmaqos_domain_attr attr;
    struct rdmaqos_achieved achieved;
    struct ibv_qp_init_attr init;
    struct ibv_cq *cq;
    struct ibv_qp *qp;

    if (pd == NULL) {
        fprintf(stderr, "usage: %s DEVICE\n", argv[0]);
        return 1;
    }

    rdmaqos_domain_attr_init(&attr);
    attr.mask = RDMAQOS_DOMAIN_THREAD_MODEL | RDMAQOS_DOMAIN_MESSAGE_MODEL;
    attr.thread_model = RDMAQOS_THREAD_SINGLE;
    attr.message_model = RDMAQOS_MESSAGE_HIGH_BW;
    check(rdmaqos_domain_create(pd, &attr, &domain), "domain");

    check(rdmaqos_domain_create_cq(domain, 128, NULL, NULL, 0, &cq), "completion queue");

    memset(&init, 0, sizeof(init));
    init.send_cq = init.recv_cq = cq;
    init.cap.max_send_wr = init.cap.max_recv_wr = 64;
    init.cap.max_send_sge = init.cap.max_recv_sge = 1;
    init.qp_type = IBV_QPT_RC;
    check(rdmaqos_domain_create_qp(domain, &init, &qp), "queue pair");

    rdmaqos_achieved_init(&achieved);
    check(rdmaqos_domain_achieved(domain, &achieved), "achieved");
    printf("threads: %s, messages: %s\n", thread_models[achieved.thread_model], message_models[achieved.message_model]);
    printf("thread domain: %s, own doorbell: %s, completion queue without a lock: %s\n",
           achieved.thread_domain ? "yes" : "no", achieved.own_doorbell ? "yes" : "no",
           achieved.single_threaded_cq ? "yes" : "no");

    printf("destroying the domain now: %s\n", rdmaqos_domain_destroy(domain) == -EBUSY ? "busy" : "done");
    ibv_destroy_qp(qp);
    ibv_destroy_cq(cq);
    check(rdmaqos_domain_destroy(domain), "destroying the domain");
    printf("destroying it after its objects: done\n");
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    return 0;
}
