// SPDX-License-Identifier: Apache-2.0
//
// Which picture meets which fault: the plan of the programs that show downloads. Beside the faults that pass, three
// pictures never come: one is not on the server, one meets the same fault each time, one gets no answer.

/// Pictures, and the faults that requests for them meet. A value: the same pictures meet the same faults.
package struct BadNetwork: Sendable {
    private let photos: [String: [UInt8]]
    private let passing: [String: [NetworkFault]]
    private let lasting: [String: NetworkFault]
    /// In the list, but not on the server. Like the other two it differs from the names of all pictures.
    package let gone: String
    /// Each request for it meets the same fault.
    package let hopeless: String
    /// No request for it is answered.
    package let unanswered: String

    /// What the pictures meet, in the order of their names; further ones meet no fault.
    private static let lists: [[NetworkFault]] = [
        [.slow(.milliseconds(300))], [.cutOff], [.busy, .busy], [.stalled], [.slow(.milliseconds(600))],
        [.cutOff, .slow(.milliseconds(300))],
    ]

    /// - Parameters:
    ///   - photos: by name; those that can be had.
    ///   - missing: names of further pictures for the list, which the server does not have.
    ///   - hopeless: the fault of the picture that cannot be had.
    package init(_ photos: [String: [UInt8]], missing: [String] = [], hopeless fault: NetworkFault) {
        func free(_ name: String) -> String {
            let candidates = sequence(first: name) { "other-\($0)" }
            return candidates.first { photos[$0] == nil && !missing.contains($0) }!
        }
        self.photos = photos
        gone = free("gone.jpg")
        hopeless = free(fault == .stalled ? "silent.jpg" : "refused.jpg")
        unanswered = free("unwanted.jpg")
        let some = Dictionary(uniqueKeysWithValues: zip(photos.keys.sorted(), Self.lists))
        let absent = Dictionary((missing + [gone]).map { ($0, [NetworkFault]()) }) { first, _ in first }
        passing = some.merging(absent) { first, _ in first }
        lasting = [hopeless: fault, unanswered: .stalled]
    }

    /// The names in the server's list, sorted.
    package var names: [String] { Set(photos.keys).union(passing.keys).union(lasting.keys).sorted() }

    /// The names of the pictures that cannot be had.
    package var unobtainable: Set<String> { Set(names).subtracting(photos.keys) }

    /// The faults that the requests for a picture meet, one after the other; empty where each gets the picture.
    package func faults(of name: String) -> String {
        if let fault = lasting[name] { return "\(fault) each time" }
        guard photos[name] != nil else { return "not there" }
        return (passing[name] ?? []).map { "\($0)" }.joined(separator: ", ")
    }

    /// A server that plays it.
    ///
    /// - Parameter willAnswer: as in ``PhotoServer``.
    package func server(willAnswer: @escaping @Sendable (_ name: String) async -> Void = { _ in })
        -> PhotoServer
    {
        PhotoServer(photos, faults: passing, always: lasting, willAnswer: willAnswer)
    }
}
