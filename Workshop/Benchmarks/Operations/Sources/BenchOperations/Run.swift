// SPDX-License-Identifier: Apache-2.0
//
// A run's figures, with its day, machine and load by other processes (Machine.swift), as the C suites write them.

import Foundation

/// What --json writes, under the C suites' names; scripts/lib/bench_table.py reads both.
struct Run: Encodable {
    let suite = "operations"
    let date = String(ISO8601DateFormatter().string(from: Date()).prefix(10))
    let arguments: String
    let machine = Machine()
    let rounds: Int
    /// A round measures so much work, not for so long.
    let sliceMilliseconds = 0.0
    let coresUsedByOthers: Double
    /// Of the machine, over all tables; and table by table.
    let state: String
    let states: [States.Table]
    /// These loops check nothing.
    let faults = 0
    let cells: [Outcome]
    let sizes: [Size]

    init(
        arguments: String,
        rounds: Int,
        coresUsedByOthers: Double,
        states: States,
        cells: [Outcome],
        sizes: [Size]
    ) {
        self.arguments = arguments
        self.rounds = rounds
        self.coresUsedByOthers = coresUsedByOthers
        state = states.ofRun
        self.states = states.tables
        self.cells = cells
        self.sizes = sizes
    }

    enum CodingKeys: String, CodingKey {
        case suite, date, arguments, machine, rounds, faults, state, states, cells, sizes
        case sliceMilliseconds = "slice_ms"
        case coresUsedByOthers = "cores_used_by_others"
    }
}
