/* SPDX-License-Identifier: Apache-2.0
 *
 * Initialisation on first use, with a check before the lock. The pointer is published with release and
 * checked with acquire.
 */
#include "../explorer.h"
#include <platform/native.h>

static struct {
    ILK_ATOMIC(uint32_t *) object;
    ilk__native_mutex mutex;
} s;

static void setup(void) {
    s.object = NULL;
    s.mutex = (ilk__native_mutex)ILK__NATIVE_MUTEX_INIT;
}

static void use(int check_order) {
    uint32_t *object = ilk_atomic_load(&s.object, check_order);
    if (object == NULL) {
        ilk__native_mutex_lock(&s.mutex);
        object = ilk_atomic_load(&s.object, memory_order_relaxed);
        if (object == NULL) {
            object = ex_allocate(sizeof *object, 16);
            ilk_plain_write(object, sizeof *object);
            *object = 42;
            ilk_atomic_store(&s.object, object, memory_order_release);
        }
        ilk__native_mutex_unlock(&s.mutex);
    }
    ilk_plain_read(object, sizeof *object);
    ex_assert(*object == 42);
}

static void user(void) {
    use(memory_order_acquire);
}
static void careless_user(void) {
    use(memory_order_relaxed);
}

EX_SCENARIO(right){
    .name = "once",
    .claim = "every thread gets the object initialised",
    .setup = setup,
    .threads = {user, user, user},
};

EX_SCENARIO(broken){
    .name = "once-broken",
    .claim = "the first check is relaxed",
    .setup = setup,
    .threads = {careless_user, careless_user},
    .finds = EX_RACE,
};
