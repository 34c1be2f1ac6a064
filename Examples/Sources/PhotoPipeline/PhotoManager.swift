// SPDX-License-Identifier: Apache-2.0
//
// The photos of the whole process. SafeArray makes it safe: adding is a write, reading takes a snapshot, and changes
// are announced in order.

import Dispatch
import Interlock

/// The finished photos. Any thread may add, read and observe at any time.
package final class PhotoManager: Sendable {
    /// The process's own manager, made by the first access.
    package static let shared = PhotoManager()

    private let storage = SafeArray<Photo>()

    /// A separate manager; most code uses ``shared``.
    package init() {}

    /// The present photos in order of addition. A copy: later additions do not show in it. O(1).
    package var photos: [Photo] { storage.snapshot }

    /// Adds a photo. Visible to every thread when this returns, then announced.
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
    /// As ``PhotoManager/additions(_:)``, for any element.
    func additions(_ handler: @escaping @MainActor (Element) -> Void) -> ChangeSubscription {
        changes(deliverOn: .main) { change in
            guard case .insertion(_, let added) = change else { return }
            MainActor.assumeIsolated { added.forEach(handler) }
        }
    }
}
