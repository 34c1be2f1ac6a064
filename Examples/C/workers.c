/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts lines, words and bytes of files, as wc(1) does, on a pool: a job for each file, and within a large file a loop
 * that idle workers share. The main thread prints what it pops from a ring, in the order in which files are done.
 *
 *     workers FILE...
 *
 * A file that cannot be read is named, and the others are counted; the exit status is 1 then.
 */
#include <interlock/mpmc.h>
#include <interlock/pool.h>
#include <interlock/semaphore.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A part of a file, small enough for a cache; files that are mapped at once, which bounds the memory. */
enum { PART = 64 * 1024, MAPPED = 16 };

typedef struct file_count {
    const char *name;
    ilk_job job;
    const unsigned char *bytes; /* while it is counted */
    size_t size;
    atomic_ullong lines, words;
    int error; /* of errno; 0: counted */
} file_count;

static ilk_pool *pool;
static ilk_mpmc *done; /* of pointers to counts */
static ilk_semaphore mappings;

static int is_space(unsigned char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Any worker, several parts of a file at a time. A word counts where it begins. */
static void count_part(void *context, size_t first, size_t end) {
    file_count *file = context;
    unsigned long long lines = 0, words = 0;
    int after_space = first == 0 || is_space(file->bytes[first - 1]);
    for (size_t i = first; i < end; i++) {
        int space = is_space(file->bytes[i]);
        lines += file->bytes[i] == '\n';
        words += after_space && !space;
        after_space = space;
    }
    atomic_fetch_add_explicit(&file->lines, lines, memory_order_relaxed);
    atomic_fetch_add_explicit(&file->words, words, memory_order_relaxed);
}

static int count_descriptor(file_count *file, int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        return errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return EINVAL;
    }
    file->size = (size_t)status.st_size;
    if (file->size == 0) {
        return 0;
    }
    void *mapped = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapped == MAP_FAILED) {
        return errno;
    }
    file->bytes = mapped;
    /* Idle workers take parts of it. */
    if (!ilk_pool_for(pool, 0, file->size, PART, count_part, file)) {
        abort(); /* a loop within a job is not refused */
    }
    munmap(mapped, file->size);
    return 0;
}

/* A job. */
static void count_file(void *context) {
    file_count *file = context;
    int descriptor = open(file->name, O_RDONLY | O_CLOEXEC);
    file->error = descriptor < 0 ? errno : count_descriptor(file, descriptor);
    if (descriptor >= 0) {
        close(descriptor);
    }
    ilk_semaphore_signal(&mappings, 1);
    if (!ilk_mpmc_try_push(done, &file, sizeof(file))) {
        abort(); /* it has room for all */
    }
}

static void print(const char *name, unsigned long long lines, unsigned long long words,
                  unsigned long long size) {
    printf("%8llu %8llu %9llu %s\n", lines, words, size, name);
}

/* Whether each file was counted. */
static int count_all(file_count *files, size_t count) {
    size_t submitted = 0, popped = 0, failures = 0;
    unsigned long long lines = 0, words = 0, size = 0;
    while (popped < count) {
        /* As many files as may be mapped go to the pool before the first result is waited for. */
        if (submitted < count && ilk_semaphore_try_wait(&mappings)) {
            ilk_job_init(&files[submitted].job, count_file, &files[submitted]);
            if (!ilk_pool_submit(pool, &files[submitted].job)) {
                abort(); /* an open pool refuses nothing */
            }
            submitted++;
            continue;
        }
        file_count *file;
        if (ilk_mpmc_pop_until(done, &file, sizeof(file), ILK_FOREVER) != ILK_OK) {
            abort(); /* no thread closes it */
        }
        popped++;
        if (file->error != 0) {
            (void)fprintf(stderr, "workers: %s: %s\n", file->name,
                          file->error == EINVAL ? "not a regular file" : strerror(file->error));
            failures++;
            continue;
        }
        unsigned long long its_lines = atomic_load(&file->lines), its_words = atomic_load(&file->words);
        print(file->name, its_lines, its_words, file->size);
        lines += its_lines;
        words += its_words;
        size += file->size;
    }
    print("total", lines, words, size);
    return failures == 0;
}

int main(int argc, char **argv) {
    size_t count = (size_t)argc - 1;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: workers FILE...\n");
        return 64;
    }
    file_count *files = calloc(count, sizeof(*files));
    if (files == NULL || ilk_mpmc_create(&done, count < 2 ? 2 : count, sizeof(file_count *)) != ILK_OK ||
        ilk_pool_create(&pool, &(ilk_pool_options){.name = "count"}) != ILK_OK) {
        (void)fprintf(stderr, "workers: no memory, or no thread\n");
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        files[i].name = argv[i + 1];
    }
    ilk_semaphore_init(&mappings, MAPPED);
    int all = count_all(files, count);

    ilk_pool_close(pool);
    if (ilk_pool_wait_until(pool, ILK_FOREVER) !=
        ILK_OK) { /* the last job has pushed, and may still return */
        abort();
    }
    ilk_pool_destroy(pool);
    ilk_semaphore_destroy(&mappings);
    ilk_mpmc_destroy(done);
    free(files);
    return all ? 0 : 1;
}
