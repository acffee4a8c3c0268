import PowerSyncCrypto
import PowerSyncSystem

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

/// A folder of keys as JWK, PEM and DER (`JWT_KEYS_DIR`).
package struct KeyFolder: Sendable {
    /// What shows that a folder has changed: each name with the file that it leads to.
    package struct Stamp: Sendable, Hashable {
        /// A name, and of its file the number, the size and the time of the last change.
        private let name: String
        private let numbers: [Int64]

        fileprivate init(_ name: String, _ status: stat) {
            self.name = name
            #if canImport(Darwin)
                let changed = status.st_mtimespec
            #else
                let changed = status.st_mtim
            #endif
            numbers = [
                Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size), Int64(changed.tv_sec),
                Int64(changed.tv_nsec),
            ]
        }
    }

    /// The most bytes of a file.
    private static let mostBytes = 64 << 10
    /// The most keys.
    private static let mostKeys = 100

    /// Reads a file by its path.
    package typealias ReadFile = @Sendable (String) throws -> [UInt8]

    /// The folder, which need not exist yet, in one that does.
    package let path: String
    private let contents: ReadFile

    /// Names a folder.
    ///
    /// - Parameters:
    ///   - path: where it is.
    ///   - readFile: reads one of its files.
    package init(path: String, readFile: @escaping ReadFile = KeyFolder.readFile) {
        self.path = path
        contents = readFile
    }

    /// Reads a file that is no longer than keys are.
    package static let readFile: ReadFile = { path in
        Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Reads all keys.
    ///
    /// - Throws: `BackendError` with `.keys`, naming the file that is no key.
    package func read() throws(BackendError) -> [KeyFile] {
        let names = try names()
        let keys = names.filter(KeyFile.isKey)
        guard keys.count <= Self.mostKeys else {
            throw BackendError(.keys, "\(path) has more than \(Self.mostKeys) keys")
        }
        var files: [KeyFile] = []
        for name in keys {
            let place = KeyFile.stateName(of: name)
            let hasState = !KeyFile.isJWK(name) && names.contains(place)
            files.append(
                try KeyFile(name: name, bytes: try bytes(name), state: hasState ? bytes(place) : nil))
        }
        return files
    }

    /// What shows whether it has changed, through symbolic links, by which whole folders are swapped.
    ///
    /// - Throws: `BackendError` with `.keys`.
    package func stamps() throws(BackendError) -> Set<Stamp> {
        var stamps: Set<Stamp> = []
        for name in try names() {
            // A name that is gone again says as much.
            if let status = status(name) { stamps.insert(Stamp(name, status)) }
        }
        return stamps
    }

    /// Makes the folder and a first key, which signs from now on, where there is none.
    ///
    /// - Parameters:
    ///   - algorithm: of the key.
    ///   - now: seconds since 1970.
    /// - Returns: the key that was made; nil where there was one, or another process has been first.
    /// - Throws: `BackendError` with `.keys`.
    @discardableResult
    package func prepare(
        creating algorithm: SignatureAlgorithm, now: Int64
    ) throws(BackendError) -> KeyFile? {
        // This folder alone: one above it that is missing was taken away, and must not come back with a key in it.
        if mkdir(path, 0o700) != 0, errno != EEXIST { throw cannotBeMade(errno) }
        guard try names().allSatisfy({ !KeyFile.isKey($0) }) else { return nil }
        var times = KeyTimes(state: .current)
        times.published = now
        times.current = now
        let file = try KeyFile(name: "signing-key.jwk", key: try Self.generate(algorithm), times: times)
        // The first of several processes wins: all sign with the key under this one name.
        return try write(file.saying(times, isNew: true)) ? file : nil
    }

    /// Requires of the keys what a start does; nothing is made.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - lifetime: how long a token lives.
    /// - Throws: `BackendError` with `.keys`.
    package func check(now: Int64, lifetime: Duration) throws(BackendError) {
        guard status(".") != nil else {
            let above = URL(fileURLWithPath: path).deletingLastPathComponent().path
            guard FileManager.default.fileExists(atPath: above) else { throw cannotBeMade(ENOENT) }
            return
        }
        let files = try read()
        // Without any a start makes the first one.
        guard !files.isEmpty else { return }
        _ = try KeyRoster(files, now: now, lifetime: lifetime.components.seconds).signingSet()
    }

    private func cannotBeMade(_ number: Int32) -> BackendError {
        let what = number == ENOENT ? "the folder above it" : "mkdir"
        return BackendError(
            .keys, "the folder of keys \(path) cannot be made: \(what): \(SystemError.text(of: number))")
    }

    /// Makes a key that nobody else has, whose name no command takes for an option.
    static func generate(_ algorithm: SignatureAlgorithm) throws(BackendError) -> JSONWebKey {
        do {
            while true {
                let key = try JSONWebKey.generate(algorithm)
                if key.kid?.hasPrefix("-") == false { return key }
            }
        } catch {
            throw BackendError(.keys, "no key for \(algorithm.rawValue) can be made: \(error)", cause: error)
        }
    }

    /// Writes a file, which others see whole or not at all; it is for this user alone.
    ///
    /// - Parameter write: what is to be written.
    /// - Returns: whether it was; false where a new one is there already.
    /// - Throws: `BackendError` with `.keys`.
    @discardableResult
    func write(_ write: KeyWrite) throws(BackendError) -> Bool {
        do throws(SystemError) {
            let hidden = path + "/.new-" + Hexadecimal.encode(randomBytes(8))
            let staged = try StagedFile(new: hidden)
            do throws(SystemError) {
                try staged.write(Array(write.text.utf8))
                try staged.commit(to: path + "/" + write.name, replacing: !write.isNew)
            } catch {
                staged.discard()
                throw error
            }
            return true
        } catch {
            if write.isNew, error.errno == EEXIST { return false }
            throw BackendError(
                .keys, "\(write.name) cannot be written in \(path): \(error)", cause: error)
        }
    }

    /// Removes a key, and what is said of it.
    func remove(_ file: KeyFile) throws(BackendError) {
        // What is said of it last: without its key it says nothing.
        let names = [file.name] + (KeyFile.isJWK(file.name) ? [] : [KeyFile.stateName(of: file.name)])
        for name in names {
            guard unlink(path + "/" + name) != 0, errno != ENOENT else { continue }
            let reason = SystemError.text(of: errno)
            throw BackendError(.keys, "\(name) cannot be removed from \(path): \(reason)")
        }
    }

    private func names() throws(BackendError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw BackendError(.keys, "the keys in \(path) cannot be read: \(error)", cause: error)
        }
    }

    private func status(_ name: String) -> stat? {
        var status = stat()
        return stat(path + "/" + name, &status) == 0 ? status : nil
    }

    private func bytes(_ name: String) throws(BackendError) -> [UInt8] {
        guard let status = status(name), status.st_size <= Self.mostBytes else {
            throw BackendError(.keys, "\(name) in \(path) is gone, or longer than \(Self.mostBytes) bytes")
        }
        do {
            return try contents(path + "/" + name)
        } catch {
            throw BackendError(.keys, "\(name) in \(path) cannot be read: \(error)", cause: error)
        }
    }
}
