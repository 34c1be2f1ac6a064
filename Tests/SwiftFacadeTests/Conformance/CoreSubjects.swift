// SPDX-License-Identifier: Apache-2.0
//
// How the C-backed versions meet the protocols of the conformance suite.

extension Subjects {
    static let coreArrays: [ArraySubject] = []
    static let coreLocks: [LockSubject] = []
    static let coreSPSCRings: [SPSCSubject] = []
    static let coreMPMCRings: [MPMCSubject] = []
    static let coreSemaphores: [SemaphoreSubject] = []
}
