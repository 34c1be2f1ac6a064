// SPDX-License-Identifier: Apache-2.0
//
// A server on SwiftNIO and Interlock in one program, in Swift 6: a channel handler on the event loops counts in a
// shared collection and hands what it reads over through a ring; a task takes it out. Prints "50 lines from 5
// connections".

import Foundation
import Interlock
import NIOCore
import NIOPosix

/// Pushes each line that a connection sends.
final class Lines: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let lines: MPMCRing<String>
    private let connections: SafeDictionary<UUID, Int>
    private let connection = UUID()

    init(_ lines: MPMCRing<String>, _ connections: SafeDictionary<UUID, Int>) {
        (self.lines, self.connections) = (lines, connections)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let text = String(buffer: unwrapInboundIn(data))
        for line in text.split(separator: "\n") {
            connections.update(forKey: connection, default: 0) { $0 += 1 }
            // An event loop must not wait: the ring has room for all.
            precondition(lines.tryPush(String(line)).isPushed, "the ring is full")
        }
    }
}

let lines = try MPMCRing<String>(capacity: 64)
let connections = SafeDictionary<UUID, Int>()
let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
let server = try await ServerBootstrap(group: group)
    .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Lines(lines, connections))
        }
    }
    .bind(host: "127.0.0.1", port: 0).get()
let address = server.localAddress!

try await withThrowingTaskGroup(of: Void.self) { tasks in
    for number in 0..<5 {
        tasks.addTask {
            let client = try await ClientBootstrap(group: group).connect(to: address).get()
            for line in 0..<10 {
                try await client.writeAndFlush(ByteBuffer(string: "\(number).\(line)\n")).get()
            }
            try await client.close().get()
        }
    }
    try await tasks.waitForAll()
}
var received: Set<String> = []
for try await line in lines {
    received.insert(line)
    if received.count == 50 { break }
}
print("\(received.count) lines from \(connections.count) connections")
try await server.close().get()
try await group.shutdownGracefully()
