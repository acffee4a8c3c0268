import Foundation
import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport

/// A storage in memory that does what the test says, and keeps what it was asked.
final class ScriptedStorage: RemoteStorageAdapter {
    /// What it was asked, and for which attachment.
    enum Call: Hashable, Sendable {
        case upload(String)
        case download(String)
        case delete(String)

        var kind: AttachmentSyncStatus.Kind {
            switch self {
            case .upload: .upload
            case .download: .download
            case .delete: .delete
            }
        }
    }

    private struct State {
        var files: [String: [UInt8]] = [:]
        var calls: [Call] = []
        var attachments: [Attachment] = []
        var failures: [Call: [any Error]] = [:]
        var gates: [Call: Gate] = [:]
        var running: [AttachmentSyncStatus.Kind: Int] = [:]
        var mostRunning: [AttachmentSyncStatus.Kind: Int] = [:]
        var runningOfFile: [String: Int] = [:]
        var mostRunningOfFile = 0
        var failsEach: (@Sendable (Call) -> (any Error)?)?
        var delaysEach: (@Sendable () async -> Void)?
    }

    private let state = Lock(State())

    /// What it was asked, in order.
    var calls: [Call] { state.withLock { $0.calls } }
    /// The attachments that came with the calls.
    var attachments: [Attachment] { state.withLock { $0.attachments } }
    /// The files by their ids.
    var files: [String: [UInt8]] { state.withLock { $0.files } }
    /// How many calls of a kind there were at once at most.
    func mostRunning(_ kind: AttachmentSyncStatus.Kind) -> Int {
        state.withLock { $0.mostRunning[kind] ?? 0 }
    }

    /// How many calls for one file there were at once at most.
    var mostRunningOfFile: Int { state.withLock { $0.mostRunningOfFile } }

    /// How often it was asked something.
    func count(_ call: Call) -> Int { calls.count { $0 == call } }

    /// Puts a file in.
    func put(_ id: String, _ bytes: [UInt8]) { state.withLock { $0.files[id] = bytes } }

    /// Holds calls, cancelled ones too, until the gate is opened.
    func hold(_ call: Call) -> Gate {
        let gate = Gate()
        state.withLock { $0.gates[call] = gate }
        return gate
    }

    /// Has the next calls fail, one for each error.
    func fail(_ call: Call, with errors: any Error...) {
        state.withLock { $0.failures[call, default: []] += errors }
    }

    /// Has each call fail for which there is an error.
    func failEach(_ error: (@Sendable (Call) -> (any Error)?)?) { state.withLock { $0.failsEach = error } }

    /// Has each call, cancelled ones too, take until something has returned.
    func delayEach(_ delay: (@Sendable () async -> Void)?) { state.withLock { $0.delaysEach = delay } }

    func uploadFile(fileData: Data, attachment: Attachment) async throws {
        try await answer(.upload(attachment.id), attachment) { $0.files[attachment.id] = Array(fileData) }
    }

    func downloadFile(attachment: Attachment) async throws -> Data {
        let bytes = try await answer(.download(attachment.id), attachment) { $0.files[attachment.id] }
        guard let bytes else { throw AttachmentStorageError(.unknown, "There is no such file", status: 404) }
        return Data(bytes)
    }

    func deleteFile(attachment: Attachment) async throws {
        try await answer(.delete(attachment.id), attachment) { $0.files[attachment.id] = nil }
    }

    private func answer<Value: Sendable>(
        _ call: Call, _ attachment: Attachment, _ body: @Sendable (inout State) -> Value
    ) async throws -> Value {
        let (gate, delay) = state.withLock { state -> (Gate?, (@Sendable () async -> Void)?) in
            state.calls.append(call)
            state.attachments.append(attachment)
            let running = (state.running[call.kind] ?? 0) + 1
            state.running[call.kind] = running
            state.mostRunning[call.kind] = max(running, state.mostRunning[call.kind] ?? 0)
            let ofFile = (state.runningOfFile[attachment.id] ?? 0) + 1
            state.runningOfFile[attachment.id] = ofFile
            state.mostRunningOfFile = max(ofFile, state.mostRunningOfFile)
            return (state.gates[call], state.delaysEach)
        }
        defer {
            state.withLock { state in
                state.running[call.kind, default: 1] -= 1
                state.runningOfFile[attachment.id, default: 1] -= 1
            }
        }
        await gate?.pass()
        await delay?()
        return try state.withLock { state throws -> Value in
            if var errors = state.failures[call], !errors.isEmpty {
                let error = errors.removeFirst()
                state.failures[call] = errors
                throw error
            }
            if let error = state.failsEach?(call) { throw error }
            return body(&state)
        }
    }
}

/// Decides about failures as the test says, and keeps what it was asked.
final class ScriptedHandler: SyncErrorHandler {
    private struct State {
        var asked: [ScriptedStorage.Call] = []
        var errors: [String] = []
        var triesAgain: Bool
    }

    private let state: Lock<State>

    init(triesAgain: Bool) { state = Lock(State(triesAgain: triesAgain)) }

    /// What it was asked about, in order.
    var asked: [ScriptedStorage.Call] { state.withLock { $0.asked } }
    /// The errors that it was asked about.
    var errors: [String] { state.withLock { $0.errors } }

    func onDownloadError(attachment: Attachment, error: any Error) async -> Bool {
        answer(.download(attachment.id), error)
    }

    func onUploadError(attachment: Attachment, error: any Error) async -> Bool {
        answer(.upload(attachment.id), error)
    }

    func onDeleteError(attachment: Attachment, error: any Error) async -> Bool {
        answer(.delete(attachment.id), error)
    }

    private func answer(_ call: ScriptedStorage.Call, _ error: any Error) -> Bool {
        state.withLock { state in
            state.asked.append(call)
            state.errors.append(String(describing: error))
            return state.triesAgain
        }
    }
}
