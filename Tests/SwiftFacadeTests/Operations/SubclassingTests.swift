// SPDX-License-Identifier: Apache-2.0
//
// Subclasses in another module: of every open class, by every initializer, with every open member.

import Testing

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct SubclassingTests {
    private static let runsPrograms = underThreadSanitizer(false, instead: true)

    @Test(.enabled(if: runsPrograms, "its runtime would have to be linked"))
    func everyOpenClassHasSubclassesElsewhere() async throws {
        let output = try await Compiler.runFile(
            """
            import Foundation
            import Interlock

            // Its own state is constant.
            final class Page: AsyncOperation<Int>, @unchecked Sendable {
                let number: Int
                init(_ number: Int) {
                    self.number = number
                    super.init()
                }
                override var queuePriority: Operation.QueuePriority {
                    didSet { print("priority") }
                }
                override func execute() { finish(.success(number)) }
                override func executionCancelled() { super.executionCancelled() }
            }

            // Its own state is constant.
            final class Book: GroupOperation<Int>, @unchecked Sendable {
                let title: String
                init(_ title: String) {
                    self.title = title
                    super.init(name: title, limit: 2)
                }
                init(_ title: String, in queue: InterlockQueue) {
                    self.title = title
                    super.init(name: title, on: queue)
                }
                init(_ title: String, in queue: OperationQueue) {
                    self.title = title
                    super.init(name: title, on: queue, onFailure: .cancelOthers)
                }
            }

            @main struct Main {
                static func main() async throws {
                    let (own, foundation) = (InterlockQueue(), OperationQueue())
                    for book in [Book("own"), Book("queue", in: own), Book("foundation", in: foundation)] {
                        let page = Page(3)
                        page.queuePriority = .high
                        try book.add(page)
                        own.enqueue(book)
                        print(book.title, try await book.value)
                    }
                }
            }
            """
        )
        #expect(output == "priority\nown [3]\npriority\nqueue [3]\npriority\nfoundation [3]\n")
    }
}
