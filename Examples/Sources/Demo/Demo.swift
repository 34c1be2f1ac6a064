import Foundation
import PhotoPipeline
import SafeAgainstUnsafe
import Interlock

@main struct Demo {
  static func main() async throws {
    if CommandLine.arguments.dropFirst().first == "child" { UnsafeTrials.runInThisProcess(); return }
    let r = try await GCD.run { SafeTrials.run() }
    for x in r { print(x.name, x.completeRuns, x.perIteration) }
    for _ in 0..<10 { print(try UnsafeTrials.run(executable: URL(fileURLWithPath: "/proc/self/exe"), arguments: ["child"])) }
    let folder = try PhotoFolder(path: CommandLine.arguments[1])
    print(folder.others)
    let out = try OutputFolder(path: "/tmp/demo/out2", photos: folder)
    for _ in 0..<3 {
    for p in [OperationPipeline() as any PhotoPipeline, DispatchPipeline()] {
      let result = try await GCD.run { try p.run(folder.photos, into: out, options: .init()) { o in _ = o } }
      print(p.name, result.duration, result.photos.count, result.rejections, result.timeline.peak(of: "load"), result.timeline.threadCount)
    } }
  }
}
