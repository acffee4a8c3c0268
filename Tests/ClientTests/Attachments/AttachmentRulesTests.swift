import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// The table of Client/Attachments/SPEC.md: every event for a row in every state, each cell compared with the rules.
struct AttachmentRulesTests {
    /// The columns: states, some in several ways.
    enum Example: String, CaseIterable {
        case none
        case queuedUpload
        case uploadedBefore = "queuedUpload, was synced"
        case queuedDownload, synced, queuedDelete
        case cached = "archived, was synced"
        case local = "archived, local"
        case fileless = "archived, no file"

        var row: Attachment? {
            switch self {
            case .none: nil
            case .queuedUpload: Self.row(.queuedUpload, hasSynced: false, path: "/here/a.jpg")
            case .uploadedBefore: Self.row(.queuedUpload, hasSynced: true, path: "/here/a.jpg")
            case .queuedDownload: Self.row(.queuedDownload, hasSynced: false, path: nil)
            case .synced: Self.row(.synced, hasSynced: true, path: "/here/a.jpg")
            case .queuedDelete: Self.row(.queuedDelete, hasSynced: false, path: "/here/a.jpg")
            case .cached: Self.row(.archived, hasSynced: true, path: "/here/a.jpg")
            case .local: Self.row(.archived, hasSynced: false, path: "/here/a.jpg")
            case .fileless: Self.row(.archived, hasSynced: false, path: nil)
            }
        }

        private static func row(_ state: AttachmentState, hasSynced: Bool, path: String?) -> Attachment {
            Attachment(
                id: "a", filename: "a.jpg", state: state, timestamp: 7, hasSynced: hasSynced, localUri: path,
                mediaType: "image/jpeg", size: 3, metaData: "{}")
        }
    }

    enum Event: String, CaseIterable {
        case save = "`saveFile`"
        case delete = "`deleteFile`"
        case watched = "a row of the app refers to it"
        case watchedOnly = "the same, `downloadAttachments` is false"
        case unwatched = "none refers to it any more"
        case uploaded, downloaded, deleted
        case uploadGivenUp = "the handler gives the upload up"
        case downloadGivenUp = "the handler gives the download up"
        case deleteGivenUp = "the handler gives the deleting up"
        case elsewhere = "verified: the file is elsewhere"
        case missing = "verified: the file is missing"
        case expired = "beyond `archivedCacheLimit`, its file is removed"

        /// What the rules say of a row; nil for what does not come to rules: the row is made, or the call refused.
        func change(_ row: Attachment) -> AttachmentChange? {
            switch self {
            case .save: nil
            case .delete: AttachmentRules.deleted(row)
            case .watched, .watchedOnly: AttachmentRules.watched(row)
            case .unwatched: AttachmentRules.unwatched(row)
            case .uploaded: AttachmentRules.uploaded(row)
            case .downloaded: AttachmentRules.downloaded(row, as: "a.jpg", to: "/here/a.jpg", size: 5)
            case .deleted: AttachmentRules.removed(row)
            case .uploadGivenUp: AttachmentRules.givenUp(row, .queuedUpload)
            case .downloadGivenUp: AttachmentRules.givenUp(row, .queuedDownload)
            case .deleteGivenUp: AttachmentRules.givenUp(row, .queuedDelete)
            case .elsewhere: AttachmentRules.verified(row, isThere: false, expected: "/there/a.jpg")
            case .missing: AttachmentRules.verified(row, isThere: false, expected: nil)
            case .expired: AttachmentRules.expired(row)
            }
        }

        /// What happens where there is no row; `AttachmentQueueTests` has it of a queue.
        var cellWithoutRow: String {
            switch self {
            case .save: "queuedUpload"
            case .delete: "refused"
            case .watched: "queuedDownload"
            default: "·"
            }
        }
    }

    private static func text(_ change: AttachmentChange?) -> String {
        switch change {
        case nil: "refused"
        case .unchanged: "·"
        case .moved(let state): "\(state)"
        case .movedWithoutFile(let state): "\(state), no path"
        case .deleting: "queuedDelete"
        case .synced: "synced"
        case .repaired: "path repaired"
        case .removed: "gone"
        }
    }

    @Test func thePageHasWhatTheRulesSay() throws {
        let lines = try Repository.text("Client/Attachments/SPEC.md").split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| event |") })
        #expect(
            lines[start] == "| event | \(Example.allCases.map(\.rawValue).joined(separator: " | ")) |")
        let page = lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { String($0) }
        let rows = Event.allCases.map { event in
            let cells = Example.allCases.map { example in
                example.row.map { Self.text(event.change($0)) } ?? event.cellWithoutRow
            }
            return "| \(event.rawValue) | \(cells.joined(separator: " | ")) |"
        }
        #expect(page == rows)
    }

    @Test func everyStateHasAColumn() {
        let states = Set(Example.allCases.compactMap { $0.row?.state })
        #expect(states.count == 5)
    }

    /// Whatever is decided, the app's data stays, and so does the time, which the writing sets.
    @Test(arguments: Example.allCases, Event.allCases) func nothingOfTheAppIsLost(
        _ example: Example, _ event: Event
    ) throws {
        guard let row = example.row, let change = event.change(row), let after = change.applied(to: row)
        else { return }
        #expect(after.id == "a" && after.filename == "a.jpg" && after.timestamp == 7)
        #expect(after.metaData == "{}" && after.mediaType == "image/jpeg")
        #expect(after.size == (event == .downloaded && example == .queuedDownload ? 5 : 3))
        if change == .unchanged { #expect(after.state == row.state && after.localUri == row.localUri) }
    }

    /// A row is never synced without a path, which would be a file that nobody has.
    @Test(arguments: Example.allCases, Event.allCases) func whatIsSyncedHasAPath(
        _ example: Example, _ event: Event
    ) throws {
        guard let after = example.row.flatMap({ event.change($0)?.applied(to: $0) }) else { return }
        if after.state == .synced { #expect(after.hasPath && after.hasSynced == true) }
        if event == .delete { #expect(after.state == .queuedDelete && after.hasSynced == false) }
    }

    @Test func whatWasSyncedAndHasNoFileIsDownloadedAgain() {
        let archived = Attachment(id: "a", filename: "a.jpg", state: .archived, hasSynced: true)
        #expect(AttachmentRules.watched(archived) == .moved(to: .queuedDownload))
        let synced = archived.with(.synced)
        #expect(
            AttachmentRules.verified(synced, isThere: false, expected: nil)
                == .movedWithoutFile(to: .queuedDownload))
        let emptyPath = synced.at("")
        #expect(
            AttachmentRules.verified(emptyPath, isThere: true, expected: nil)
                == .movedWithoutFile(to: .queuedDownload))
    }

    @Test(arguments: Example.allCases) func aFileThatIsThereChangesNothing(_ example: Example) {
        guard let row = example.row, row.hasPath else { return }
        #expect(AttachmentRules.verified(row, isThere: true, expected: nil) == .unchanged)
    }

    /// The file is that of another name.
    @Test func aDownloadUnderAnotherNameCountsForNothing() throws {
        let row = try #require(Example.queuedDownload.row)
        let change = AttachmentRules.downloaded(row, as: "b.jpg", to: "/here/b.jpg", size: 5)
        #expect(change == .unchanged)
        // The same characters, other bytes.
        let composed = Attachment(id: "a", filename: "\u{e9}.jpg", state: .queuedDownload)
        #expect(
            AttachmentRules.downloaded(composed, as: "e\u{301}.jpg", to: "/here/x", size: 5) == .unchanged)
    }

    @Test func aDownloadedFileIsWantedByItsRowAlone() {
        let path = "/here/a.jpg"
        #expect(!AttachmentRules.wants(nil, fileAt: path))
        #expect(AttachmentRules.wants(Example.queuedDownload.row, fileAt: path))
        #expect(AttachmentRules.wants(Example.synced.row, fileAt: path))
        #expect(!AttachmentRules.wants(Example.fileless.row, fileAt: path))
        #expect(!AttachmentRules.wants(Example.queuedDelete.row?.at(nil), fileAt: path))
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        let error: any Error
        let lane: TransferLane
        var isQueueEmpty = true
        var hasHandler = true
        let meaning: TransferFailure

        var testDescription: String { "\(error), \(lane), \(isQueueEmpty), \(hasHandler): \(meaning)" }
    }

    private static func failed(with errno: Int32) -> PowerSyncAttachmentError {
        .ioError(SystemError(.file, "cannot open a file", errno: errno))
    }

    static let failures: [Failure] =
        TransferLane.allCases.flatMap { lane -> [Failure] in
            let unknown = AttachmentStorageError(.unknown, "unknown")
            return [
                Failure(error: unknown, lane: lane, isQueueEmpty: false, meaning: .waits),
                Failure(error: unknown, lane: lane, meaning: lane == .delete ? .done : .open),
                Failure(
                    error: AttachmentStorageError(.notUploaded, "early"), lane: lane, meaning: .early),
                Failure(
                    error: AttachmentStorageError(.stillReferenced, "early"), lane: lane, meaning: .early),
                Failure(
                    error: AttachmentStorageError(.stillReferenced, "early"), lane: lane,
                    isQueueEmpty: false, meaning: .waits),
                Failure(
                    error: AttachmentStorageError(.gone, "gone"), lane: lane,
                    meaning: lane == .delete ? .done : .open),
                Failure(error: AttachmentStorageError(.network, "cut"), lane: lane, meaning: .open),
                Failure(
                    error: AttachmentStorageError(.network, "cut"), lane: lane, isQueueEmpty: false,
                    hasHandler: false, meaning: .open),
                Failure(error: CancellationError(), lane: lane, meaning: .open),
                Failure(
                    error: PowerSyncAttachmentError.fileNotFound("/a"), lane: lane,
                    meaning: lane == .delete ? .done : .open),
                Failure(
                    error: PowerSyncAttachmentError.fileNotFound("/a"), lane: lane, hasHandler: false,
                    meaning: lane == .delete ? .done : lane == .upload ? .fileIsGone : .open),
                Failure(
                    error: PowerSyncAttachmentError.notFound("a"), lane: lane,
                    meaning: lane == .delete ? .done : .open),
                Failure(error: TestError(text: "no"), lane: lane, meaning: .open),
                Failure(error: failed(with: EWOULDBLOCK), lane: lane, meaning: .early),
                Failure(error: failed(with: EACCES), lane: lane, meaning: .open),
            ]
        }

    @Test(arguments: failures) func anErrorMeansWhatThePageSays(_ failure: Failure) {
        let meaning = AttachmentRules.failure(
            failure.error, in: failure.lane, isQueueEmpty: failure.isQueueEmpty,
            hasHandler: failure.hasHandler)
        #expect(meaning == failure.meaning)
    }
}
