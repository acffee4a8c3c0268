import PowerSync
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The lines that a driving program gets: answers to its commands, and events.
enum ClientAnswer {
    /// The first line: the database is open.
    static let ready = event("ready")

    /// What a command gives.
    enum Content {
        /// Members.
        case members([JSONMember])
        /// One member by its name, and its value, which is spelled already.
        case spelled(String, [UInt8])
    }

    /// The answer to a command that was done.
    ///
    /// - Parameters:
    ///   - id: the command's id.
    ///   - content: what the command gives.
    /// - Returns: the line.
    static func success(_ id: JSON?, _ content: Content = .members([])) -> String {
        let head = identified(id) + [JSONMember("ok", .bool(true))]
        switch content {
        case .members(let members): return JSON.object(head + members).text
        case .spelled(let name, let json): return text(head, name, json)
        }
    }

    /// The answer to a command that was not done.
    ///
    /// - Parameters:
    ///   - id: the command's id.
    ///   - error: why; cancellation means that the program ends.
    /// - Returns: the line.
    static func failure(_ id: JSON?, _ error: any Error) -> JSON {
        .object(identified(id) + [JSONMember("ok", .bool(false))] + described(error))
    }

    /// The event of a line that is no command, and has no id by which it could be answered.
    static func unreadable(_ error: ClientError) -> JSON { event("error", described(error)) }

    /// The event of a checkpoint that was applied completely, or of several of which the last one is told.
    static func checkpoint(_ checkpoint: UntoldEvents<Date>.Event) -> JSON {
        event("checkpoint", [JSONMember("at", milliseconds(checkpoint.content))] + count(of: checkpoint))
    }

    /// The event of a transaction that the backend will never take, or of several of which the last one is told.
    static func rejected(_ refusal: UntoldEvents<RefusedUpload>.Event) -> JSON {
        let upload = refusal.content
        var members = [at(upload.time)]
        for (name, text) in [
            ("code", upload.code), ("message", upload.message), ("table", upload.table), ("id", upload.rowID),
            ("rejection", upload.rejectionID),
        ] {
            if let text { members.append(JSONMember(name, .string(text))) }
        }
        if let number = upload.transactionId { members.append(JSONMember("transaction", .integer(number))) }
        members.append(JSONMember("undecided", .bool(upload.isUndecided)))
        return event("rejected", members + count(of: refusal))
    }

    /// The event of a result of a watched query.
    ///
    /// - Parameters:
    ///   - id: the id of the command that watches.
    ///   - time: microseconds since 1970.
    ///   - rows: the whole result, as an array that is spelled already.
    /// - Returns: the line.
    static func watch(_ id: JSON?, at time: Int64, _ rows: [UInt8]) -> String {
        text([JSONMember("event", .string("watch"))] + identified(id) + [at(time)], "rows", rows)
    }

    /// The event of a watched query that has failed and gives no more results.
    static func watch(_ id: JSON?, at time: Int64, failed error: any Error) -> JSON {
        event("watch", identified(id) + [at(time)] + described(error))
    }

    /// The state of syncing at one moment.
    static func status(_ status: any SyncStatusData) -> [JSONMember] {
        [
            JSONMember("connected", .bool(status.connected)),
            JSONMember("connecting", .bool(status.connecting)),
            JSONMember("syncedElsewhere", .bool(status.isSyncedElsewhere)),
            JSONMember("hasSynced", status.hasSynced.map { .bool($0) } ?? .null),
            JSONMember("lastSyncedAt", status.lastSyncedAt.map(milliseconds) ?? .null),
            JSONMember("downloading", .bool(status.downloading)),
            JSONMember("uploading", .bool(status.uploading)),
            JSONMember("downloadError", shown(status.downloadError)),
            JSONMember("uploadError", shown(status.uploadError)),
            JSONMember("progress", progress(status.downloadProgress)),
        ]
    }

    // MARK: Parts

    /// Spells members, and one more whose value is spelled already.
    private static func text(_ members: [JSONMember], _ name: String, _ json: [UInt8]) -> String {
        var bytes = JSON.object(members).utf8
        bytes.removeLast()
        bytes.append(UInt8(ascii: ","))
        JSON.appendQuoted(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        bytes += json
        bytes.append(UInt8(ascii: "}"))
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func event(_ name: String, _ members: [JSONMember] = []) -> JSON {
        .object([JSONMember("event", .string(name))] + members)
    }

    /// How many events one stands for, if that is more than itself.
    private static func count<Content: Sendable>(of event: UntoldEvents<Content>.Event) -> [JSONMember] {
        event.count > 1 ? [JSONMember("count", .integer(event.count))] : []
    }

    private static func identified(_ id: JSON?) -> [JSONMember] { id.map { [JSONMember("id", $0)] } ?? [] }

    private static func at(_ microseconds: Int64) -> JSONMember {
        JSONMember("at", .integer(microseconds / 1000))
    }

    private static func milliseconds(_ time: Date) -> JSON {
        .integer(Int64((time.timeIntervalSince1970 * 1000).rounded()))
    }

    private static func progress(_ progress: (any SyncDownloadProgress)?) -> JSON {
        guard let progress else { return .null }
        return .object([
            JSONMember("downloaded", .integer(progress.downloadedOperations)),
            JSONMember("total", .integer(progress.totalOperations)),
        ])
    }

    /// An error of the status: an object with the members of an answer, or null.
    private static func shown(_ error: Any?) -> JSON {
        guard let error else { return .null }
        return .object(members(error))
    }

    /// What an answer says of an error.
    private static func described(_ error: any Error) -> [JSONMember] {
        error is CancellationError
            ? members(ClientError("the client ends before that", code: .closed)) : members(error)
    }

    /// The text of an error, and its code; `other` for one that is neither of the SDK nor about files.
    private static func members(_ error: Any) -> [JSONMember] {
        let ofFile = AttachmentFailure.described(error)
        let code: PowerSyncError.Code =
            switch error {
            case let error as PowerSyncError: error.code
            case let error as ClientError: error.code
            default: ofFile?.code ?? .other
            }
        return [
            JSONMember("error", .string(ofFile?.text ?? "\(error)")),
            JSONMember("code", .string(code.rawValue)),
        ]
    }
}
