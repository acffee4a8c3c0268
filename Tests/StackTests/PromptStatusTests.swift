import Foundation
import Testing

@testable import PowerSync
@testable import PowerSyncStack

struct PromptStatusTests {
    private static func status(_ change: (inout PromptStatus) -> Void) -> PromptStatus {
        var status = PromptStatus()
        change(&status)
        return status
    }

    private static func prompt(width: Int = 80, _ change: (inout PromptStatus) -> Void) -> String {
        status(change).prompt(width: width, clock: { "at \(Int($0.timeIntervalSince1970))" })
    }

    // MARK: The prompt

    @Test func itSaysHowItStandsWithTheService() {
        #expect(Self.prompt { _ in } == "offline> ")
        #expect(Self.prompt { $0.isWanted = true } == "connecting> ")
        #expect(
            Self.prompt {
                $0.isWanted = true
                $0.isConnected = true
            } == "connected> ")
        #expect(
            Self.prompt {
                $0.isWanted = true
                $0.isSyncedElsewhere = true
            } == "waiting> ")
    }

    @Test func itSaysWhatWaitsAndWhatArrives() {
        #expect(Self.prompt { $0.queued = 3 } == "offline, 3 to upload> ")
        #expect(
            Self.prompt {
                $0.isConnected = true
                $0.queued = 1
                $0.lastSyncedAt = Date(timeIntervalSince1970: 7)
                $0.progress = PromptStatus.Progress(downloaded: 45, total: 180)
            } == "connected, 1 to upload, 25 %> ")
        #expect(
            Self.prompt { $0.progress = PromptStatus.Progress(downloaded: 0, total: 0) } == "offline, 0 %> ")
    }

    @Test func itSaysHowFarFilesAre() {
        #expect(
            Self.prompt { $0.files = PromptStatus.Files(count: 3, percent: 45) } == "offline, 3 files 45 %> ")
        #expect(
            Self.prompt {
                $0.isConnected = true
                $0.queued = 2
                $0.files = PromptStatus.Files(count: 1, percent: 0)
            } == "connected, 2 to upload, 1 file 0 %> ")
    }

    @Test func whatAQueueTellsOfFilesIsCountedTogether() {
        var queue = AttachmentSyncStatus()
        #expect(PromptStatus.Files(queue) == nil)
        queue.uploads.waitingFiles = 2
        queue.uploads.waitingBytes = 300
        queue.uploads.doneBytes = 100
        queue.downloads.waitingFiles = 1
        queue.downloads.waitingBytes = 100
        let bytes = AttachmentBytes(done: 50, total: 100)
        queue.transfers = [AttachmentSyncStatus.Transfer(id: "a", kind: .upload, bytes: bytes)]
        #expect(PromptStatus.Files(queue) == PromptStatus.Files(count: 3, percent: 30))
        // Files that are to be deleted have no bytes to go.
        var deletes = AttachmentSyncStatus()
        deletes.deletes.waitingFiles = 1
        #expect(PromptStatus.Files(deletes) == PromptStatus.Files(count: 1, percent: 0))
    }

    /// Each try of all files brings the errors anew.
    @Test func anErrorOfAFileStaysUntilNothingIsToBeDone() {
        var (status, queue) = (PromptStatus(), AttachmentSyncStatus())
        queue.uploads.waitingFiles = 1
        queue.errors = ["a": "refused\n"]
        status.take(queue)
        #expect(status.fileErrors == ["a": "refused\\n"])
        queue.errors = [:]
        status.take(queue)
        #expect(status.fileErrors.count == 1)
        queue.uploads.waitingFiles = 0
        status.take(queue)
        #expect(status.fileErrors.isEmpty && status.files == nil)
    }

    @Test func aTimeIsThereWhereThereIsRoom() {
        let change: (inout PromptStatus) -> Void = { $0.lastSyncedAt = Date(timeIntervalSince1970: 7) }
        #expect(Self.prompt(width: 60, change) == "offline, synced at 7> ")
        #expect(Self.prompt(width: 59, change) == "offline> ")
    }

    @Test func withinAStatementItIsShort() {
        #expect(
            Self.prompt {
                $0.isConnected = true
                $0.queued = 5
                $0.isContinuing = true
            } == "...> ")
    }

    // MARK: News

    private static func news(
        _ old: (inout PromptStatus) -> Void, _ new: (inout PromptStatus) -> Void
    ) -> [String] {
        status(new).news(since: status(old), retry: 0.5)
    }

    private static let connected: @Sendable (inout PromptStatus) -> Void = {
        $0.isWanted = true
        $0.isConnected = true
    }
    private static let wanted: @Sendable (inout PromptStatus) -> Void = { $0.isWanted = true }

    @Test func aConnectionThatIsFoundOrLostIsNews() {
        #expect(Self.news(Self.wanted, Self.connected) == ["connected"])
        #expect(
            Self.news(Self.connected, Self.wanted) == [
                "service lost: the stream has ended; trying again in 0.5 s"
            ])
        #expect(
            Self.news(Self.connected) {
                $0.isWanted = true
                $0.downloadError = "cut"
            } == ["service lost: cut; trying again in 0.5 s"])
        // Whoever disconnects has lost nothing.
        #expect(Self.news(Self.connected) { _ in }.isEmpty)
    }

    @Test func anErrorIsNewsOnce() {
        let failed: (inout PromptStatus) -> Void = {
            $0.isWanted = true
            $0.downloadError = "refused"
            $0.uploadError = "forbidden"
        }
        #expect(
            Self.news(Self.wanted, failed) == [
                "not connected: refused; trying again in 0.5 s",
                "upload failed: forbidden; trying again in 0.5 s",
            ])
        #expect(Self.news(failed, failed).isEmpty)
        #expect(Self.news(failed, Self.wanted).isEmpty)
        #expect(
            Self.news(Self.connected) {
                Self.connected(&$0)
                $0.downloadError = "checksum"
            } == ["download failed: checksum; trying again in 0.5 s"])
    }

    @Test func aFileThatFailsIsNewsOnceAndSoIsTheEndOfAll() {
        let waiting: (inout PromptStatus) -> Void = { $0.files = PromptStatus.Files(count: 5, percent: 0) }
        let failed: (inout PromptStatus) -> Void = {
            $0.files = PromptStatus.Files(count: 5, percent: 0)
            $0.fileErrors = ["a": "refused", "b": "too large"]
        }
        #expect(Self.news(waiting, failed) == ["file a: refused", "file b: too large"])
        #expect(Self.news(failed, failed).isEmpty)
        #expect(
            Self.news(failed) {
                failed(&$0)
                $0.fileErrors["a"] = "no answer"
            } == ["file a: no answer"])
        #expect(
            Self.news(waiting) {
                waiting(&$0)
                $0.fileErrors = ["a": "x", "b": "x", "c": "x", "d": "x", "e": "x"]
            } == [
                "file a: x", "file b: x", "file c: x", "2 more files failed; .attachments lists them",
            ])
        #expect(Self.news(failed) { _ in } == ["all files are in step"])
        #expect(Self.news(waiting, waiting).isEmpty)
    }

    /// Each attempt tells how long it took.
    @Test func anErrorThatDiffersInNumbersAloneIsNoNews() {
        func fail(_ status: inout PromptStatus, after number: Int, _ text: String, isConnected: Bool = false)
        {
            status.isWanted = true
            status.isConnected = isConnected
            status.downloadError = "could not connect after \(number) ms: \(text)"
            status.uploadError = "port \(number): \(text)"
        }
        for isConnected in [false, true] {
            let news = Self.news(
                { fail(&$0, after: 7, "refused", isConnected: isConnected) },
                { fail(&$0, after: 12, "refused", isConnected: isConnected) })
            #expect(news.isEmpty)
        }
        let others = Self.news({ fail(&$0, after: 7, "refused") }, { fail(&$0, after: 7, "unknown host") })
        #expect(others.count == 2)
    }

    @Test func theFirstSyncIsNewsOnlyWhereItWasWaitedFor() {
        #expect(Self.news({ $0.hasSynced = false }, { $0.hasSynced = true }) == ["first sync complete"])
        // What was synced in an earlier run is known a moment after the beginning.
        #expect(Self.news({ $0.hasSynced = nil }, { $0.hasSynced = true }).isEmpty)
    }

    @Test func anotherProcessThatSyncsIsNews() {
        #expect(
            Self.news(Self.wanted) {
                $0.isWanted = true
                $0.isSyncedElsewhere = true
            } == ["another process syncs this file; this one takes over when that ends"])
    }
}
