import Foundation
import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A folder of keys for the time of a test.
struct KeysFixture: Sendable {
    let folder: KeyFolder

    static func with(_ body: (KeysFixture) async throws -> Void) async throws {
        let place = try TemporaryDirectory(prefix: "keys-")
        defer { place.remove() }
        try await body(KeysFixture(folder: KeyFolder(path: place.path, readFile: read)))
    }

    /// Reads a file as a backend does, and of a pipe waits for somebody who writes, as for a server that is gone.
    static let read: KeyFolder.ReadFile = { path in
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else {
            return try KeyFolder.readFile(path)
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var byte: UInt8 = 0
        while Foundation.read(descriptor, &byte, 1) > 0 {}
        return []
    }

    /// Puts a file into it.
    func put(_ name: String, _ text: String) throws {
        try text.write(toFile: folder.path + "/" + name, atomically: true, encoding: .utf8)
    }

    /// Puts a key into it, with members beside its own.
    @discardableResult
    func put(
        _ name: String, _ key: JSONWebKey? = nil, _ members: [String: JSON] = [:], isPublic: Bool = false
    ) throws -> JSONWebKey {
        let key = try key ?? KeysFixture.key()
        try put(name, KeysFixture.text(key, members, isPublic: isPublic))
        return key
    }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: folder.path + "/" + name)
    }

    /// The names of what is in it.
    var names: Set<String> {
        get throws { Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)) }
    }

    func roster(now: Int64, lifetime: Int64 = 600) throws -> KeyRoster {
        try KeyRoster(try folder.read(), now: now, lifetime: lifetime)
    }

    /// A key whose name no command takes for an option.
    static func key() throws -> JSONWebKey {
        while true {
            let key = try JSONWebKey.generate(.ES256)
            if key.kid?.hasPrefix("-") == false { return key }
        }
    }

    /// A JWK with members beside its own.
    static func text(
        _ key: JSONWebKey, _ members: [String: JSON] = [:], isPublic: Bool = false
    ) throws -> String {
        let own = try JSON.parse(key.jsonObjectText(includePrivate: !isPublic)).objectMembers ?? []
        let more = members.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) }
        return JSON.object(own + more).text
    }
}
