import PowerSyncCompression
import PowerSyncWire

/// Turns lines into the bytes of a response (service 1.5, 1.6).
struct LineEncoder {
    private let format: LineFormat
    private let rawData: Bool
    private let compressor: Compressor?

    init(format: LineFormat, rawData: Bool, compression: CompressionFormat?) {
        self.format = format
        self.rawData = rawData
        compressor = compression.map { Compressor($0) }
    }

    /// One line with its end, and its size before compression; what was compressed can be read by the client at once.
    func encode(_ line: SyncLine) -> (bytes: [UInt8], size: Int) {
        var bytes: [UInt8]
        switch format {
        // Data is a text in BSON, whatever the request says.
        case .bson: bytes = line.encodedBSON()
        case .ndjson:
            bytes = line.encoded(rawData: rawData)
            bytes.append(0x0A)
        }
        return (compressor?.compress(bytes) ?? bytes, bytes.count)
    }

    /// What has to be sent after the last line.
    func finish() -> [UInt8] { compressor?.finish() ?? [] }
}
