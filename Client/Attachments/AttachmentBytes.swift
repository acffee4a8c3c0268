/// How far the transfer of an attachment is.
public struct AttachmentBytes: Sendable, Hashable {
    /// How many bytes have gone or come.
    ///
    /// It becomes less where a transfer has to begin anew.
    public let done: Int64
    /// How many there are; nil where that is not known yet.
    public let total: Int64?

    /// Makes it of its parts.
    ///
    /// - Parameters:
    ///   - done: how many bytes have gone or come.
    ///   - total: how many there are; nil where that is not known yet.
    public init(done: Int64, total: Int64?) {
        self.done = done
        self.total = total
    }
}
