// SPDX-License-Identifier: Apache-2.0
//
// The photos of the whole process, shared by all code that works on them. SafeArray makes it safe: adding is a write,
// reading takes a snapshot, and changes are announced in their order.

import Dispatch
import Interlock

/// The finished photos. Thread-safe: any thread may add, read and observe at any time.
package final class PhotoManager: Sendable {
    /// The process's own manager, made once, by the first access.
    package static let shared = PhotoManager()

    private let storage = SafeArray<Photo>()

    /// A separate manager; most code uses ``shared``.
    package init() {}

    /// The present photos, in the order in which they were added. A copy: later additions do not show in it. O(1).
    package var photos: [Photo] { storage.snapshot }

    /// Adds a photo. Visible to every thread when this returns, and announced after that.
    package func add(_ photo: Photo) {
        storage.append(photo)
    }

    /// Removes all photos.
    package func removeAll() {
        storage.removeAll()
    }

    /// Calls `handler` on the main queue for each photo added from now on, in order, once it is visible.
    ///
    /// - Returns: The subscription; the calls end when it is released.
    package func additions(_ handler: @escaping @MainActor (Photo) -> Void) -> ChangeSubscription {
        storage.additions(handler)
    }
}

extension SafeArray where Element: Sendable {
    /// Calls `handler` on the main queue for each element that comes in, in order.
    func additions(_ handler: @escaping @MainActor (Element) -> Void) -> ChangeSubscription {
        changes(deliverOn: .main) { change in
            guard case .insertion(_, let added) = change else { return }
            MainActor.assumeIsolated { added.forEach(handler) }
        }
    }
}
