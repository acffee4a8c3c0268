import PowerSync

extension PromptStatus.Files {
    /// Makes a state of that of a queue; nil where nothing is to be done.
    init?(_ status: AttachmentSyncStatus) {
        let lanes = [status.uploads, status.downloads, status.deletes]
        let count = lanes.reduce(status.transfers.count) { $0 + $1.waitingFiles }
        guard count > 0 else { return nil }
        let underWay = status.transfers.map(\.bytes)
        let done = lanes.reduce(underWay.reduce(0) { $0 + $1.done }) { $0 + $1.doneBytes }
        let left = lanes.reduce(underWay.reduce(0) { $0 + max(0, ($1.total ?? 0) - $1.done) }) {
            $0 + $1.waitingBytes
        }
        self.init(count: count, percent: done + left > 0 ? Int(done * 100 / (done + left)) : 0)
    }
}
