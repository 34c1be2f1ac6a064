// SPDX-License-Identifier: Apache-2.0
//
// All of Interlock under one name.

@_exported import InterlockOperations
@_exported import InterlockPool
@_exported import InterlockSync
