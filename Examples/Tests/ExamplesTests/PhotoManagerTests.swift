// SPDX-License-Identifier: Apache-2.0
//
// The shared photo manager: one for the process, thread-safe, and announcing in order.

import Dispatch
import Interlock
import Testing

@testable import Imaging
@testable import PhotoPipeline

@Suite struct PhotoManagerTests {
    private func photo(_ number: Int) -> Photo {
        let file = PhotoFile(name: "\(number)", path: "", outputName: "", position: number)
        return Photo(file: file, width: 1, height: 1, faces: [], remarks: [], preview: nil, frame: nil)
    }

    @Test func theSharedManagerIsMadeOnceUnderARaceOfFirstUses() {
        let managers = Guarded<Set<ObjectIdentifier>>([])
        DispatchQueue.concurrentPerform(iterations: 1000) { _ in
            let manager = ObjectIdentifier(PhotoManager.shared)
            managers.withLock { _ = $0.insert(manager) }
        }
        #expect(managers.withLock { $0.count } == 1)
    }

    @Test func nothingAddedIsLost() {
        let manager = PhotoManager()
        DispatchQueue.concurrentPerform(iterations: 2000) { manager.add(photo($0)) }
        #expect(manager.photos.map(\.file.position).sorted() == Array(0..<2000))
    }

    @Test func aCopyOfThePhotosStaysAsItWas() {
        let manager = PhotoManager()
        manager.add(photo(1))
        let copy = manager.photos
        manager.add(photo(2))
        manager.removeAll()
        #expect(copy == [photo(1)] && manager.photos.isEmpty)
    }

    /// Four threads add; the main queue hears of each photo in order, and finds it there.
    @Test func additionsAreAnnouncedInOrderAfterTheyAreVisible() async throws {
        let manager = PhotoManager()
        let announced = Guarded<[Photo]>([])
        let wasVisible = Guarded(true)
        let all = Latch(count: 400)
        let subscription = manager.additions { photo in
            dispatchPrecondition(condition: .onQueue(.main))
            let place = announced.withLock { announced in
                announced.append(photo)
                return announced.count - 1
            }
            let photos = manager.photos
            if photos.count <= place || photos[place] != photo { wasVisible.withLock { $0 = false } }
            all.countDown()
        }
        try await GCD.run {
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                for number in 0..<100 { manager.add(photo(thread * 100 + number)) }
            }
        }
        try await all.wait()
        withExtendedLifetime(subscription) {}
        #expect(announced.withLock { $0 } == manager.photos)
        #expect(wasVisible.withLock { $0 })
    }
}
