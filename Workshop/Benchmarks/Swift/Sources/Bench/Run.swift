// SPDX-License-Identifier: Apache-2.0
//
// A run's figures, with its day, machine and load by other processes (Machine.swift), as the C suites write them.

import Foundation

/// What --json writes, under the C suites' names; scripts/lib/bench_table.py reads both.
struct Run: Encodable {
    let suite = "swift"
    let date = String(ISO8601DateFormatter().string(from: Date()).prefix(10))
    let arguments: String
    let machine = Machine()
    let rounds: Int
    let sliceMilliseconds: Double
    let coresUsedByOthers: Double
    /// Of the machine, over all tables; and table by table.
    let state: String
    let states: [States.Table]
    /// These loops check nothing.
    let faults = 0
    let cells: [Outcome]

    init(
        arguments: [String],
        rounds: Int,
        sliceMilliseconds: Double,
        coresUsedByOthers: Double,
        states: States,
        cells: [Outcome]
    ) {
        self.arguments = arguments.joined(separator: " ")
        self.rounds = rounds
        self.sliceMilliseconds = sliceMilliseconds
        self.coresUsedByOthers = coresUsedByOthers
        state = states.ofRun
        self.states = states.tables
        self.cells = cells
    }

    enum CodingKeys: String, CodingKey {
        case suite, date, arguments, machine, rounds, faults, state, states, cells
        case sliceMilliseconds = "slice_ms"
        case coresUsedByOthers = "cores_used_by_others"
    }
}
