import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The folder in which files are copied before they become attachments: on the file system of these, which move them.
///
/// Whoever copies holds the lock of a file beside the copy. So the copies of a process that was killed are known, and the
/// next one that begins removes them.
struct IncomingFolder: Sendable {
    /// A copy that nobody else touches as long as its lock is held.
    struct Copy: Sendable {
        /// Where it is.
        let path: String
        /// The lock, which is given up by discarding it.
        let lock: StagedFile
    }

    private static let lockSuffix = ".lock"

    /// The absolute path.
    let path: String

    /// Copies a file; the copy has to be removed or moved away before its lock is given up.
    ///
    /// Blocks.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - isUnwanted: asked again and again; true ends it.
    /// - Returns: the copy.
    /// - Throws: as `CopiedFile.append(_:to:followingLinks:unless:)`.
    func copy(_ file: String, unless isUnwanted: () -> Bool) throws -> Copy {
        let copy = "\(path)/\(UUID().uuidString.lowercased())"
        let lock = try StagedFile(path: copy + Self.lockSuffix, resuming: false)
        do {
            let staged = try StagedFile(path: copy, resuming: false)
            do {
                try CopiedFile.append(file, to: staged, unless: isUnwanted)
            } catch {
                staged.discard()
                throw error
            }
            // Whoever moves it locks it, too.
            staged.close()
            return Copy(path: copy, lock: lock)
        } catch {
            lock.discard()
            throw error
        }
    }

    /// Removes what was copied by processes that are gone; what cannot be removed stays, and keeps nothing else.
    ///
    /// - Returns: why something stays, the first reason; nil if nothing does.
    func clear() -> (any Error)? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        var first: (any Error)?
        func isGone(_ name: String) -> Bool {
            do throws(SystemError) {
                return try StagedFile.removeUnheld("\(path)/\(name)")
            } catch {
                first = first ?? error
                return false
            }
        }
        do {
            let names = Set(try FileManager.default.contentsOfDirectory(atPath: path))
            for name in names where !name.hasSuffix(Self.lockSuffix) {
                if isGone(name + Self.lockSuffix) { _ = isGone(name) }
            }
            for name in names where name.hasSuffix(Self.lockSuffix) { _ = isGone(name) }
        } catch {
            first = first ?? error
        }
        return first
    }
}
