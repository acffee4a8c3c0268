import Foundation

/// The memory of this process that is resident, as the system counts it (proc(5)).
enum ResidentMemory {
    /// Reads a line of the process's status; 0 where there is none.
    static func bytes(_ name: String) -> Int {
        let status = FileManager.default.contents(atPath: "/proc/self/status") ?? Data()
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix(name) }
        let kilobytes = line?.split { $0 == " " || $0 == "\t" }.dropFirst().first
        return kilobytes.flatMap { Int($0) }.map { $0 * 1024 } ?? 0
    }

    /// Lets the peak (VmHWM) begin anew; a system that cannot do so counts what was before, too.
    static func forgetPeak() {
        FileHandle(forWritingAtPath: "/proc/self/clear_refs")?.write(Data("5".utf8))
    }
}
