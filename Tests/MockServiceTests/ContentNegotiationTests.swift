import PowerSyncCompression
import PowerSyncMockService
import PowerSyncServiceEngine
import Testing

/// Service 1.5.
struct ContentNegotiationTests {
    @Test func zstdIsPreferredToGzipAndRefusalsAreHeeded() {
        #expect(ContentNegotiation.compression(nil) == nil)
        #expect(ContentNegotiation.compression("gzip, deflate") == .gzip)
        #expect(ContentNegotiation.compression("br, gzip, zstd") == .zstd)
        #expect(ContentNegotiation.compression("gzip;q=1, zstd;q=0") == .gzip)
        #expect(ContentNegotiation.compression("*") == .zstd)
        #expect(ContentNegotiation.compression("*;q=0, gzip") == .gzip)
        #expect(ContentNegotiation.compression("identity, br") == nil)
    }

    private static let bson = "application/vnd.powersync.bson-stream"
    private static let ndjson = "application/x-ndjson"

    @Test(arguments: [
        (nil, LineFormat.ndjson), ("", .ndjson), (ndjson, .ndjson), (bson, .bson),
        ("\(bson);q=0.9,\(ndjson);q=0.8", .bson), ("\(bson);q=0.8,\(ndjson);q=0.9", .ndjson),
        ("\(ndjson), \(bson)", .ndjson), ("\(bson), \(ndjson)", .bson),
        ("text/html", .ndjson), ("*/*", .ndjson), ("application/*", .ndjson), ("\(bson);q=0", .ndjson),
        ("\(bson), */*", .bson), ("*/*, \(bson);q=0.5", .ndjson), ("\(ndjson);q=0, */*", .bson),
        ("Application/VND.PowerSync.BSON-Stream", .bson), ("\(bson);q=often", .bson),
    ])
    func bsonIsSentOnlyWhereItIsPreferred(field: String?, format: LineFormat) {
        #expect(ContentNegotiation.format(field) == format)
    }

    @Test func dataIsATextInBSONWhateverTheRequestSays() {
        #expect(LineForm.Format(.ndjson, rawData: true) == .raw)
        #expect(LineForm.Format(.ndjson, rawData: false) == .nested)
        for rawData in [true, false] { #expect(LineForm.Format(.bson, rawData: rawData) == .bson) }
    }
}
