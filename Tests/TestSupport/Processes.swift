import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the system tells about processes.
package enum Processes {
    /// Whether a process is there and is no zombie, which nobody may have reaped yet.
    package static func isAlive(_ process: Int32) -> Bool {
        guard kill(process, 0) == 0 || errno == EPERM else { return false }
        return state(of: process) != "Z"
    }

    /// The letter of a process's state (proc(5)): `T` while it is stopped, `Z` for a zombie; nil off Linux.
    package static func state(of process: Int32) -> String? {
        guard let status = FileManager.default.contents(atPath: "/proc/\(process)/stat") else { return nil }
        let fields = String(decoding: status, as: UTF8.self).split(separator: ")").last?.split(separator: " ")
        return fields?.first.map(String.init)
    }

    /// Whether the system tells which files a process has open.
    package static let areOpenFilesKnown = FileManager.default.fileExists(atPath: "/proc/self/fd")

    /// The paths of the files that a process has open, and what stands for other descriptors, as often as each is open.
    ///
    /// - Throws: Where the system does not tell, so that nobody takes that for "none".
    package static func openFiles(of process: Int32 = getpid()) throws -> [String] {
        let folder = "/proc/\(process)/fd"
        // One that is closed meanwhile leads nowhere.
        return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
        }
    }

    /// The processes whose command line or environment has a text in it, but this one, as `123: program arguments`.
    ///
    /// - Throws: Where the system does not tell, so that nobody takes that for "none".
    package static func naming(_ text: String) throws -> [String] {
        #if os(Linux)
            let ids = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }
            return ids.filter { $0 != getpid() }.compactMap { id in
                // A process that has ended meanwhile names nothing.
                let files = ["cmdline", "environ"].compactMap {
                    FileManager.default.contents(atPath: "/proc/\(id)/\($0)")
                }
                guard files.contains(where: { $0.firstRange(of: Data(text.utf8)) != nil }) else { return nil }
                let words = files[0].split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
                return "\(id): \(words.joined(separator: " "))"
            }
        #else
            // `ps` shows the environment of the user's own processes.
            let ps = Process()
            let pipe = Pipe()
            ps.executableURL = URL(filePath: "/bin/ps")
            ps.arguments = ["-axEww", "-o", "pid=,command="]
            ps.standardOutput = pipe
            try ps.run()
            let all = try pipe.fileHandleForReading.readToEnd() ?? Data()
            ps.waitUntilExit()
            guard ps.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
            return String(decoding: all, as: UTF8.self).split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ")
                guard line.contains(text), let id = words.first, Int32(id) != getpid() else { return nil }
                return "\(id): \(words.dropFirst().joined(separator: " "))"
            }
        #endif
    }
}
