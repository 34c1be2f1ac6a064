// SPDX-License-Identifier: Apache-2.0
//
// A program that takes locks in both orders, a kind of the facade's each. The script beside this package looks for its
// functions in the reports, one for each pair.

import Interlock

let accounts = ReadWriteLock(0)
let orders = PriorityInheritingMutex(0)
let names = SafeDictionary<String, Int>()

@inline(never)
func lockAccounts() {
    accounts.withWriteLock { first in
        orders.withLock { $0 += first }
    }
}

@inline(never)
func lockOrders() {
    orders.withLock { first in
        accounts.withReadLock { first += $0 }
    }
}

@inline(never)
func lockNames() {
    names.withWriteLock { first in
        accounts.withWriteLock { $0 += first.count }
    }
}

@inline(never)
func lockForNames() {
    accounts.withWriteLock { first in
        first += names.count
    }
}

lockAccounts()
lockOrders()
lockNames()
lockForNames()
