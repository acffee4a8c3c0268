import PowerSyncCrypto

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A folder of keys as JWK files, the newest of which signs (`JWT_KEYS_DIR`).
package struct KeyDirectory: Sendable {
    private let path: String

    /// Names a folder, which need not exist yet, in one that does.
    package init(path: String) { self.path = path }

    /// Reads the keys, the newest first; makes the folder and a first key where there is none.
    ///
    /// - Parameter algorithm: of a key that is made.
    /// - Returns: at least one key.
    /// - Throws: `BackendError` with `.keys`.
    package func keys(creating algorithm: SignatureAlgorithm) throws(BackendError) -> [JSONWebKey] {
        do {
            try makeFolder()
            if try files().isEmpty { try create(algorithm) }
            var keys: [JSONWebKey] = []
            for file in try files() {
                keys.append(try SigningKeys.key(json: Array(try Data(contentsOf: file))))
            }
            return keys
        } catch {
            throw BackendError(.keys, "the keys in \(path) cannot be read or made: \(error)", cause: error)
        }
    }

    /// Makes this folder alone: one above it that is missing was taken away, and must not come back with a key in it.
    private func makeFolder() throws {
        guard mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        let number = errno
        throw POSIXFailure(call: number == ENOENT ? "the folder above it" : "mkdir", number: number)
    }

    private func files() throws -> [URL] {
        let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".jwk") }
        let dated = try names.map { name in
            let file = path + "/" + name
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            return (file, attributes[.modificationDate] as? Date ?? .distantPast)
        }
        return dated.sorted { ($0.1, $0.0) > ($1.1, $1.0) }.map { URL(fileURLWithPath: $0.0) }
    }

    /// Writes a key that only the owner can read; another process that starts at once either sees it whole or
    /// not.
    private func create(_ algorithm: SignatureAlgorithm) throws {
        let key = try JSONWebKey.generate(algorithm)
        // The number of the process is no name: in a container each start has the same, and one that was killed here has left
        // its file.
        let hidden = path + "/.new-" + String(UInt64.random(in: .min ... .max), radix: 16)
        let descriptor = open(hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXFailure(call: "open", number: errno) }
        defer { unlink(hidden) }
        let text = Array(key.jsonObjectText(includePrivate: true).utf8)
        let written = write(descriptor, text, text.count)
        let isSafe = written == text.count && fsync(descriptor) == 0
        let number = errno
        close(descriptor)
        guard isSafe else { throw POSIXFailure(call: "write", number: number) }
        // The first of several processes wins: all sign with the key under this one name.
        guard link(hidden, path + "/signing-key.jwk") == 0 || errno == EEXIST else {
            throw POSIXFailure(call: "link", number: errno)
        }
    }
}

private struct POSIXFailure: Error, CustomStringConvertible {
    let call: String
    let number: Int32

    var description: String { "\(call): \(String(cString: strerror(number)))" }
}
