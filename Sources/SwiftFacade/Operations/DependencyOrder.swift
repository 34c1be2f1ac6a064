// SPDX-License-Identifier: Apache-2.0
//
// Tells whether an edge between operations of this module would close a cycle, without a search of the graph: every
// vertex has a level, kept as edges come, and an edge never leads down. The algorithm is that for sparse graphs of
// Bender, Fineman, Gilbert and Tarjan, "A New Approach to Incremental Cycle Detection and Related Problems" (ACM
// Transactions on Algorithms 12(2), 2016, section 2), with a constant for its limit of the first search.
//
// An edge leads from the operation that waits to the one that it waits for. A new edge v → w closes a cycle where w
// leads to v:
//
//     level(v) < level(w)   No path leads down from w to v. Nothing is searched.
//     otherwise             First search: back from v, over edges within its level, `limit` edges at most.
//       met w               A cycle.
//       over, and the levels are equal    No path from w to v within the level: none at all.
//       over, w is lower    w rises to the level of v.
//       stopped             w rises to the level above that of v.
//                           Second search: forward from w, over vertices below the new level, which rise too.
//                           Met v, or what the first search has met: a cycle.
//
// No search where nothing waits for v, or w waits for nothing: a chain costs O(1) a link, from either end. Each level
// that is passed by a stopped search has `limit` edges: m edges cost O(m · (limit + m / limit)), random ones far less.
//
// Both searches come before any change: an edge that is refused leaves everything as it was. Removing an edge or a
// vertex lowers no level, and the levels stay right: what they say is only that no edge leads down.
//
// The edges into a vertex form one list. Those within its level are at its front, the only ones the first search reads:
// a vertex that rises leaves its predecessors below, and those that rise with it are moved to the front again.

/// A directed graph without cycles, of numbered vertices. A plain value: `DependencyGraph` guards it. It holds no
/// operation.
struct DependencyOrder {
    typealias Vertex = Int32
    /// An edge, also after its removal: then it stands for none.
    struct Edge: Equatable {
        fileprivate var index: Int32
        fileprivate var stamp: UInt32
    }

    static let none: Int32 = -1
    /// Edges that the first search reads at most. Of 8 to 316, this one builds random graphs of 100,000 edges fastest:
    /// 100 to 190 ns an edge with 1,000 to 100,000 vertices (`GraphOrderTests.aRandomGraphIsBuiltCheaply`).
    var limit = 32
    /// For tests: the edges that searches have read.
    private(set) var visited = 0
    private(set) var edgeCount = 0
    private(set) var vertexCount = 0

    private struct VertexCell {
        var level = 0
        var firstOut = none, firstIn = none, lastIn = none
        /// The search that has met the vertex last.
        var met: UInt32 = 0
    }

    private struct EdgeCell {
        var source: Vertex, target: Vertex
        /// In the list of the edges out of the source; in a free cell, `nextOut` is the next free one.
        var previousOut = none, nextOut = none
        /// In the list of the edges into the target.
        var previousIn = none, nextIn = none
        /// Uses of the cell so far.
        var stamp: UInt32 = 0
    }

    private var vertices: [VertexCell] = []
    private var edges: [EdgeCell] = []
    private var freeVertices: [Vertex] = []
    private var freeEdge = none
    /// The number of the last search; marks carry it.
    private var search: UInt32 = 0
    /// What the second search has met, all to rise to `newLevel`.
    private var rising: [Vertex] = []
    private var newLevel = 0
    private var pending: [Vertex] = []

    // MARK: Vertices

    mutating func addVertex() -> Vertex {
        vertexCount += 1
        if let reused = freeVertices.popLast() { return reused }
        vertices.append(VertexCell())
        return Vertex(vertices.count - 1)
    }

    /// Removes the vertex with its edges, in O(1) for each.
    mutating func remove(vertex: Vertex) {
        while vertices[Int(vertex)].firstOut >= 0 { unlink(vertices[Int(vertex)].firstOut) }
        while vertices[Int(vertex)].firstIn >= 0 { unlink(vertices[Int(vertex)].firstIn) }
        vertices[Int(vertex)].level = 0
        freeVertices.append(vertex)
        vertexCount -= 1
    }

    // MARK: Edges

    /// Adds `source` → `target`, unless that closes a cycle; then nothing has changed.
    mutating func add(from source: Vertex, to target: Vertex) -> Edge? {
        closesCycle(from: source, to: target) ? nil : addChecked(from: source, to: target)
    }

    /// Adds `source` → `target`, right after `closesCycle` has said no for this edge.
    mutating func addChecked(from source: Vertex, to target: Vertex) -> Edge {
        rise()
        let level = (source: vertices[Int(source)].level, target: vertices[Int(target)].level)
        return link(source, target, isWithinLevel: level.source == level.target)
    }

    /// Removes the edge, if it is still there.
    mutating func remove(_ edge: Edge) {
        if edges[Int(edge.index)].stamp == edge.stamp { unlink(edge.index) }
    }

    /// In no order.
    func forEachEdge(_ body: (_ source: Vertex, _ target: Vertex) -> Void) {
        for vertex in vertices {
            var edge = vertex.firstOut
            while edge >= 0 {
                body(edges[Int(edge)].source, edges[Int(edge)].target)
                edge = edges[Int(edge)].nextOut
            }
        }
    }

    /// Whether `source` → `target` would close a cycle. If not, `rising` and `newLevel` say what makes room for it.
    mutating func closesCycle(from source: Vertex, to target: Vertex) -> Bool {
        rising.removeAll(keepingCapacity: true)
        if source == target { return true }
        let level = vertices[Int(source)].level
        if level < vertices[Int(target)].level { return false }
        let isAlone = vertices[Int(source)].firstIn < 0 || vertices[Int(target)].firstOut < 0
        if isAlone, level == vertices[Int(target)].level { return false }
        // Three searches at most have different numbers.
        if search > .max - 3 { forgetMarks() }
        beginSearch()
        newLevel = level
        if isAlone {
            mark(source)
        } else {
            switch searchBack(from: source, to: target) {
            case .metTarget: return true
            case .over:
                if level == vertices[Int(target)].level { return false }
            case .stopped:
                newLevel = level + 1
                beginSearch()
                mark(source)
            }
        }
        return searchForward(from: target)
    }

    // MARK: The searches

    private enum Back { case metTarget, over, stopped }

    /// Marks what leads to `source` within its level.
    private mutating func searchBack(from source: Vertex, to target: Vertex) -> Back {
        let level = vertices[Int(source)].level
        var left = limit
        mark(source)
        pending.append(source)
        defer { pending.removeAll(keepingCapacity: true) }
        while let vertex = pending.popLast() {
            var edge = vertices[Int(vertex)].firstIn
            while edge >= 0 {
                let before = edges[Int(edge)].source
                if vertices[Int(before)].level != level { break }
                if before == target { return .metTarget }
                visited += 1
                left -= 1
                if left == 0 { return .stopped }
                if mark(before) { pending.append(before) }
                edge = edges[Int(edge)].nextIn
            }
        }
        return .over
    }

    /// Whether `target` leads to a vertex that is marked. If not, all that have to rise are in `rising`.
    private mutating func searchForward(from target: Vertex) -> Bool {
        let first = search
        beginSearch()
        _ = mark(target)
        rising.append(target)
        var next = 0
        while next < rising.count {
            var edge = vertices[Int(rising[next])].firstOut
            next += 1
            while edge >= 0 {
                visited += 1
                let after = edges[Int(edge)].target
                if vertices[Int(after)].met == first { return true }
                if vertices[Int(after)].level < newLevel, mark(after) { rising.append(after) }
                edge = edges[Int(edge)].nextOut
            }
        }
        return false
    }

    private mutating func beginSearch() { search += 1 }

    private mutating func forgetMarks() {
        for index in vertices.indices { vertices[index].met = 0 }
        search = 0
    }

    /// Whether this search had not met the vertex.
    @discardableResult
    private mutating func mark(_ vertex: Vertex) -> Bool {
        if vertices[Int(vertex)].met == search { return false }
        vertices[Int(vertex)].met = search
        return true
    }

    /// Raises what the second search has met.
    private mutating func rise() {
        for vertex in rising { vertices[Int(vertex)].level = newLevel }
        for vertex in rising {
            var edge = vertices[Int(vertex)].firstOut
            while edge >= 0 {
                let after = edges[Int(edge)].target
                if vertices[Int(after)].level == newLevel {
                    unlinkIn(edge)
                    linkIn(edge, after, atFront: true)
                }
                edge = edges[Int(edge)].nextOut
            }
        }
        rising.removeAll(keepingCapacity: true)
    }

    // MARK: The lists

    private mutating func link(_ source: Vertex, _ target: Vertex, isWithinLevel: Bool) -> Edge {
        var index = freeEdge
        if index >= 0 {
            freeEdge = edges[Int(index)].nextOut
            edges[Int(index)].source = source
            edges[Int(index)].target = target
        } else {
            index = Int32(edges.count)
            edges.append(EdgeCell(source: source, target: target))
        }
        let second = vertices[Int(source)].firstOut
        edges[Int(index)].previousOut = Self.none
        edges[Int(index)].nextOut = second
        if second >= 0 { edges[Int(second)].previousOut = index }
        vertices[Int(source)].firstOut = index
        linkIn(index, target, atFront: isWithinLevel)
        edgeCount += 1
        return Edge(index: index, stamp: edges[Int(index)].stamp)
    }

    private mutating func unlink(_ index: Int32) {
        let (edge, source) = (edges[Int(index)], Int(edges[Int(index)].source))
        if edge.previousOut >= 0 {
            edges[Int(edge.previousOut)].nextOut = edge.nextOut
        } else {
            vertices[source].firstOut = edge.nextOut
        }
        if edge.nextOut >= 0 { edges[Int(edge.nextOut)].previousOut = edge.previousOut }
        unlinkIn(index)
        edges[Int(index)].stamp &+= 1
        edges[Int(index)].nextOut = freeEdge
        freeEdge = index
        edgeCount -= 1
    }

    private mutating func linkIn(_ index: Int32, _ target: Vertex, atFront: Bool) {
        let (first, last) = (vertices[Int(target)].firstIn, vertices[Int(target)].lastIn)
        edges[Int(index)].previousIn = atFront ? Self.none : last
        edges[Int(index)].nextIn = atFront ? first : Self.none
        if first < 0 {
            vertices[Int(target)].firstIn = index
            vertices[Int(target)].lastIn = index
        } else if atFront {
            edges[Int(first)].previousIn = index
            vertices[Int(target)].firstIn = index
        } else {
            edges[Int(last)].nextIn = index
            vertices[Int(target)].lastIn = index
        }
    }

    private mutating func unlinkIn(_ index: Int32) {
        let (edge, target) = (edges[Int(index)], Int(edges[Int(index)].target))
        if edge.previousIn >= 0 {
            edges[Int(edge.previousIn)].nextIn = edge.nextIn
        } else {
            vertices[target].firstIn = edge.nextIn
        }
        if edge.nextIn >= 0 {
            edges[Int(edge.nextIn)].previousIn = edge.previousIn
        } else {
            vertices[target].lastIn = edge.previousIn
        }
    }
}
