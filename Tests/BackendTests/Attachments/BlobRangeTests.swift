import Testing

@testable import PowerSyncBackend

struct BlobRangeTests {
    private static let parts: [(String, Range<Int64>)] = [
        ("bytes=0-0", 0..<1), ("bytes=0-9", 0..<10), ("bytes=5-", 5..<10), ("bytes=-3", 7..<10),
        ("bytes=-99", 0..<10), ("bytes=3-99", 3..<10), ("bytes=9-9", 9..<10), ("BYTES=1-2", 1..<3),
        ("bytes=1-99999999999999999999", 1..<10), ("bytes=1-9223372036854775807", 1..<10),
        ("bytes=-99999999999999999999", 0..<10),
    ]

    @Test(arguments: parts)
    func oneRangeIsAPart(field: String, range: Range<Int64>) {
        #expect(BlobRange(field, size: 10) == .part(range))
    }

    @Test(arguments: ["bytes=10-", "bytes=10-20", "bytes=99999999999999999999-", "bytes=-0"])
    func aRangeBehindTheEndHasNoByte(field: String) {
        #expect(BlobRange(field, size: 10) == .unsatisfiable)
    }

    private static let others: [String?] = [
        nil, "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=2-1", "bytes=0-1,3-4", "bytes=0-1-2",
        "lines=0-1", "bytes= 0-1", "bytes=0x1-2", "bytes=+1-2", "bytes=1", "bytes=--1",
    ]

    @Test(arguments: others)
    func whatIsNoSingleRangeMeansAll(field: String?) {
        #expect(BlobRange(field, size: 10) == .whole)
    }

    @Test func ofNothingThereIsNoRange() {
        for field in ["bytes=0-", "bytes=0-0", "bytes=-1"] {
            #expect(BlobRange(field, size: 0) == .unsatisfiable, "\(field)")
        }
        #expect(BlobRange(nil, size: 0) == .whole)
    }
}
