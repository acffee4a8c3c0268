import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// What this process takes of the system.
struct Footprint: Sendable {
    let descriptors: Int
    /// Threads of the package: how many Swift keeps for its tasks is the system's choice.
    let threads: Int
    /// Bytes that are resident and of no file: code that runs for the first time is no growth.
    let memory: Int

    /// Has errors forgotten that are over.
    ///
    /// Swift Testing keeps for each one that was ever thrown where that was, as long as the process lives: of whatever
    /// throws in the end, as what is cancelled, something would seem to be left behind. Say so first in a process of its own.
    static func forgetErrors() throws {
        #if os(Linux)
            typealias SetHandler = @convention(c) (UnsafeRawPointer?) -> UnsafeRawPointer?
            for name in ["swt_setWillThrowHandler", "swt_setWillThrowTypedHandler"] {
                let symbol = try #require(dlsym(nil, name), "a Swift Testing without \(name)")
                _ = unsafeBitCast(symbol, to: SetHandler.self)(nil)
            }
        #endif
    }

    /// Looks now; all is 0 where the system does not tell.
    static func now() throws -> Footprint {
        #if os(Linux)
            Memory.returnToSystem()
            let status = String(
                decoding: FileManager.default.contents(atPath: "/proc/self/status") ?? Data(), as: UTF8.self)
            let resident = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
            let kilobytes = try #require(resident?.split { $0 == " " || $0 == "\t" }.dropFirst().first)
            return Footprint(
                descriptors: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
                threads: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count {
                    // One that has ended meanwhile has no name any more.
                    let name = FileManager.default.contents(atPath: "/proc/self/task/\($0)/comm") ?? Data()
                    return String(decoding: name, as: UTF8.self) == DetachedThread.name + "\n"
                },
                memory: try #require(Int(kilobytes)) * 1024)
        #else
            return Footprint(descriptors: 0, threads: 0, memory: 0)
        #endif
    }

    /// Looks once descriptors and threads have stayed the same for a while: some end a moment after what used them.
    static func settled() async throws -> Footprint {
        var last = try now()
        var times = 0
        return try await wait(
            for: "descriptors and threads to stay the same", read: { try now() },
            until: { seen in
                let isSame = seen.descriptors == last.descriptors && seen.threads == last.threads
                times = isSame ? times + 1 : 0
                last = seen
                return times == 50
            })
    }
}
