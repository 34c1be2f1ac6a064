// SPDX-License-Identifier: Apache-2.0
//
// A lock and a ring, of the module for those alone.

import InterlockSync

let total = ReadWriteLock(0)
let ring = try MPMCRing<Int>(capacity: 8)
for number in 1...4 where ring.tryPush(number).isPushed {}
while let number = ring.tryPop() { total.withWriteLock { $0 += number } }
print(total.withReadLock { $0 })
