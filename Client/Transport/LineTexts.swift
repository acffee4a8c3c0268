import PowerSyncWire

/// Cuts the bytes of a stream into the texts of its lines, for the log; documents in BSON become JSON.
struct LineTexts: Sendable {
    /// Lines beyond this are not logged: a line that is needed whole would have to be kept twice.
    static let lineLimit = 1 << 20

    private let format: SyncLineFormat
    private var lines = LineSplitter(limit: Self.lineLimit)
    private var documents = DocumentSplitter(limit: Self.lineLimit)
    /// Whether it is no longer known where lines begin.
    private var isLost = false

    /// - Parameter format: how the lines are spelled.
    init(_ format: SyncLineFormat) { self.format = format }

    /// Takes the next bytes of the stream, cut anywhere.
    ///
    /// - Parameter bytes: the bytes.
    /// - Returns: the texts of the lines that are whole now; once, in place of a line over the limit and of all behind it,
    ///   what is wrong with it.
    mutating func append(_ bytes: [UInt8]) -> [String] {
        guard !isLost else { return [] }
        var texts: [String] = []
        do {
            switch format {
            case .json:
                lines.append(bytes)
                while let line = try lines.next() { texts.append(String(decoding: line, as: UTF8.self)) }
            case .bson:
                documents.append(bytes)
                while let document = try documents.next() { texts.append(Self.text(of: document)) }
            }
        } catch {
            self = LineTexts(format)
            isLost = true
            texts.append("(\(error); nothing more of this response is logged)")
        }
        return texts
    }

    private static func text(of document: [UInt8]) -> String {
        do {
            return try JSON.parse(bson: document).text
        } catch {
            return "(\(document.count) bytes that are no JSON: \(error))"
        }
    }
}
