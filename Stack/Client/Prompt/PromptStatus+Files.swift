import PowerSync

extension PromptStatus.Files {
    /// Makes a state of that of a queue; nil where nothing is to be done.
    init?(_ status: AttachmentSyncStatus) {
        let lanes = [status.uploads, status.downloads, status.deletes]
        let count = lanes.reduce(0) { $0 + $1.waitingFiles }
        guard count > 0 else { return nil }
        let ended = lanes.reduce(0) { $0 + $1.doneBytes }
        let all = ended + lanes.reduce(0) { $0 + $1.waitingBytes }
        let done = status.transfers.reduce(ended) { $0 + $1.bytes.done }
        self.init(count: count, percent: all > 0 ? Int(min(99, done * 100 / all)) : 0)
    }
}
