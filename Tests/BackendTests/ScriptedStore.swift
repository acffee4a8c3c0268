import PowerSyncBackend
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire

/// A store of attachments in memory, whose answers a test decides.
final class ScriptedStore: ObjectStore {
    /// The calls that wait for an answer.
    enum Call: String, Sendable, Hashable, CaseIterable {
        case createMultipart, parts, completeMultipart, abortMultipart, head, delete
    }

    /// An upload in parts.
    struct Upload: Sendable {
        let key: String
        var parts: [StoredPart] = []
    }

    struct State: Sendable {
        var objects: [String: StoredObject] = [:]
        var uploads: [String: Upload] = [:]
        /// The calls in their order.
        var calls: [Call] = []
        /// What is thrown instead of an answer.
        var failures: [Call: ObjectStoreError] = [:]
        /// The keys of which nothing is answered.
        var broken: Set<String> = []
        /// Where the next call of a kind waits, before anything is done.
        var gates: [Call: Gate] = [:]
        /// What is looked at with each call.
        var onCall: (@Sendable (Call) async -> Void)?
        var lastUpload = 0
        /// Whether it goes on although nobody waits any more.
        var isDeaf = false
        /// Whether it is another store than that of the database.
        var isOther = false
    }

    let state = Lock(State())

    /// The keys of what is stored.
    var keys: Set<String> { state.withLock { Set($0.objects.keys) } }

    /// How often something was asked.
    func count(_ call: Call) -> Int { state.withLock { $0.calls.count { $0 == call } } }

    /// Has all calls of some kinds fail, or none any more.
    func fail(_ calls: [Call] = Call.allCases, with error: ObjectStoreError?) {
        state.withLock { state in for call in calls { state.failures[call] = error } }
    }

    /// Holds the next call of a kind at a gate.
    func hold(_ call: Call) -> Gate {
        let gate = Gate()
        state.withLock { $0.gates[call] = gate }
        return gate
    }

    /// Stores an object, as a device does with a signed URL.
    func put(_ key: String, size: Int64, sha256: [UInt8]? = nil) {
        state.withLock { $0.objects[key] = StoredObject(size: size, sha256: sha256) }
    }

    /// Stores a part.
    func putPart(_ number: Int, size: Int64, of upload: String) {
        state.withLock { state in
            state.uploads[upload]?.parts.removeAll { $0.number == number }
            state.uploads[upload]?.parts.append(StoredPart(number: number, size: size, tag: "tag-\(number)"))
        }
    }

    private func come(_ call: Call, _ key: String = "") async throws {
        let (gate, look) = state.withLock { state in
            state.calls.append(call)
            return (state.gates.removeValue(forKey: call), state.onCall)
        }
        await look?(call)
        await gate?.pass()
        if state.withLock({ !$0.isDeaf }) { try Task.checkCancellation() }
        if let failure = state.withLock({ $0.failures[call] }) { throw failure }
        if state.withLock({ $0.broken.contains(key) }) { throw ObjectStoreError(.unavailable, "broken") }
    }

    // MARK: The store

    func signUpload(
        key: String, contentType: String, size: Int64, sha256: [UInt8], for user: String, at now: Int64
    ) throws -> SignedRequest {
        signed("PUT", key, [SignedRequest.Header("content-type", contentType)])
    }

    func signDownload(
        key: String, contentType: String, disposition: String, for user: String, at now: Int64
    ) throws -> SignedRequest {
        signed("GET", key, [SignedRequest.Header("content-disposition", disposition)])
    }

    func signPart(
        key: String, upload: String, number: Int, size: Int64, sha256: [UInt8], for user: String,
        at now: Int64
    ) throws -> SignedRequest {
        signed("PUT", "\(key)/\(upload)/\(number)/\(size)", [])
    }

    private func signed(_ method: String, _ place: String, _ headers: [SignedRequest.Header]) -> SignedRequest
    {
        SignedRequest(
            url: "http://store.invalid/\(place)", method: method, headers: headers,
            expiresAt: "2027-01-15T08:15:00Z")
    }

    func createMultipart(key: String, contentType: String) async throws -> String {
        try await come(.createMultipart)
        return state.withLock { state in
            state.lastUpload += 1
            let upload = "upload-\(state.lastUpload)"
            state.uploads[upload] = Upload(key: key)
            return upload
        }
    }

    func parts(key: String, upload: String) async throws -> [StoredPart]? {
        try await come(.parts)
        return state.withLock { $0.uploads[upload]?.parts }
    }

    func completeMultipart(
        key: String, upload: String, parts: [StoredPart], sha256: [UInt8]?
    ) async throws {
        try await come(.completeMultipart)
        try state.withLock { state in
            guard let known = state.uploads[upload], known.key == key, state.objects[key] == nil else {
                throw ObjectStoreError(.conflict, "something is stored, or there is no such upload")
            }
            state.objects[key] = StoredObject(size: parts.reduce(0) { $0 + $1.size })
            state.uploads[upload] = nil
        }
    }

    func abortMultipart(key: String, upload: String) async throws {
        try await come(.abortMultipart)
        state.withLock { $0.uploads[upload] = nil }
    }

    func head(key: String) async throws -> StoredObject? {
        try await come(.head, key)
        return state.withLock { $0.objects[key] }
    }

    func delete(key: String) async throws {
        try await come(.delete, key)
        state.withLock { $0.objects[key] = nil }
    }

    func isNamed(_ name: String) async throws -> Bool { state.withLock { !$0.isOther } }

    func takeName(_ name: String) async throws {}
}
