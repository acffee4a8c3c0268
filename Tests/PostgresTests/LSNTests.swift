import PowerSyncPostgresValues
import Testing

struct LSNTests {
    @Test(arguments: [
        ("0/0", UInt64(0), "00000000/00000000", "0/0"),
        ("16/B374D848", 0x16_B374_D848, "00000016/B374D848", "16/B374D848"),
        ("00000016/b374d848", 0x16_B374_D848, "00000016/B374D848", "16/B374D848"),
        ("1/A", 0x1_0000_000A, "00000001/0000000A", "1/A"),
        ("FFFFFFFF/FFFFFFFF", .max, "FFFFFFFF/FFFFFFFF", "FFFFFFFF/FFFFFFFF"),
    ])
    func readsBothSpellingsAndWritesThem(text: String, value: UInt64, padded: String, short: String) throws {
        let lsn = try #require(LSN(text: text))
        #expect(lsn.rawValue == value)
        #expect(lsn.text == padded)
        #expect(lsn.postgresText == short)
        #expect("\(lsn)" == short)
    }

    @Test(arguments: [
        "", "/", "1", "1/", "/1", "1/2/3", "G/1", "1/123456789", "+1/1", "1/+1", "-1/1", " 1/1", "1/1 ",
    ])
    func refusesEverythingElse(text: String) {
        #expect(LSN(text: text) == nil)
    }

    @Test func paddedTextsCompareAsThePositionsDo() throws {
        let small = try #require(LSN(text: "9/FFFFFFFF"))
        let large = try #require(LSN(text: "10/0"))
        #expect(small < large)
        #expect(small.text < large.text)
        #expect(small.postgresText > large.postgresText, "the short spelling would compare wrongly")
    }
}
