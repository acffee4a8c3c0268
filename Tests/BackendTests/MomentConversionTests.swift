import PowerSyncBackend
import PowerSyncWire
import Testing

/// Days and moments, and what the table map may say about them.
struct MomentConversionTests {
    private func convert(
        _ json: String, _ kind: ColumnKind, _ change: (inout ValueOptions) -> Void = { _ in }
    ) throws -> ConvertedValue {
        var options = ValueOptions()
        change(&options)
        return try ValueConversion.convert(JSON.parse(json), as: kind, options: options)
    }

    /// Postgres drops the offset of what it casts to timestamp, and keeps the wall time.
    @Test(arguments: [
        ("2025-12-03T10:00:00+02:00", "2025-12-03 08:00:00"), ("2025-12-03T10:00:00Z", "2025-12-03 10:00:00"),
        ("2025-12-03", "2025-12-03"), ("2025-12-03T10:20", "2025-12-03 10:20"),
        ("2025-12-03 01:30:00.25+0200", "2025-12-02 23:30:00.25"),
        ("2024-03-01 00:00+01", "2024-02-29 23:00:00"),
        ("2023-03-01 00:00+01", "2023-02-28 23:00:00"), ("1900-03-01 00:00+01", "1900-02-28 23:00:00"),
        ("2000-03-01 00:00+01", "2000-02-29 23:00:00"), ("2025-12-31T23:59:59-00:01", "2026-01-01 00:00:59"),
        ("9999-12-31 23:00:00-02:00", "10000-01-01 01:00:00"),
        ("0001-01-01 01:00+02", "0001-12-31 23:00:00 BC"),
        ("0001-12-31 23:00:00-02 BC", "0001-01-01 01:00:00"),
        ("0005-03-01 00:00:00+01 BC", "0005-02-29 23:00:00 BC"),
        ("1969-12-31 23:59:59.5-00:30", "1970-01-01 00:29:59.5"),
        ("2025-12-03 24:00:00+01:00", "2025-12-03 23:00:00"),
        ("2025-12-03 23:59:60+00:01", "2025-12-03 23:59:00"),
        // Days that no calendar has are for Postgres to refuse.
        ("2025-02-29 10:00:00+02:00", "2025-02-29 10:00:00"),
        ("0000-01-01 10:00:00+02:00", "0000-01-01 10:00:00"),
    ])
    func aColumnWithoutAZoneHasTheTimeOfUTC(sent: String, expected: String) throws {
        #expect(try convert(JSON.quoted(sent), .timestamp).text == expected)
        #expect(try convert("[\(JSON.quoted(sent))]", .array(.timestamp)).text == "{\"\(expected)\"}")
        #expect(try convert(JSON.quoted("{{\"\(sent)\"}}"), .array(.timestamp)).text == "{{\"\(expected)\"}}")
    }

    /// Every byte is looked at: Postgres reads zones and words behind long fractions, too.
    @Test(arguments: [
        "2025-12-03 10:00:00." + String(repeating: "1", count: 44) + " Europe/Berlin",
        "2025-12-03 10:00:00." + String(repeating: "1", count: 44) + " BC x",
        "2025-12-03 10:00:00." + String(repeating: "1", count: 200), "2025-12-03 BC BC",
        "2025-12-03 10:00:00 AD",
        "2025-12-03 25:00", "2025-12-03 10:60", "2025-12-03 10:00:61", "2025-12-03 10:00+16",
        "2025-12-03 10:00+01:60",
        "1234567-01-01", "2025-12-03T", "2025-12-0３",
    ])
    func whatStandsBehindAMomentIsNoPartOfIt(sent: String) {
        for kind in [ColumnKind.instant, .timestamp, .date] {
            #expect(throws: ValueRefusal.self, "\(kind)") { try convert(JSON.quoted(sent), kind) }
        }
    }

    @Test func theEraOfADayIsKept() throws {
        #expect(try convert(#""0044-03-15 BC""#, .date).text == "0044-03-15 BC")
        #expect(try convert(#""10000-01-01""#, .date).text == "10000-01-01")
    }

    // MARK: Infinity

    @Test(arguments: [
        ("infinity", "infinity"), ("Infinity", "infinity"), ("-infinity", "-infinity"),
        // What the sync service prints for them (service 6.13).
        ("9999-12-31 23:59:59Z", "infinity"), ("9999-12-31T23:59:59.000000Z", "infinity"),
        ("0000-01-01 00:00:00Z", "-infinity"), ("0000-01-01T00:00:00.000Z", "-infinity"),
        ("9999-12-31 23:59:59", "infinity"), ("9999-12-31 23:59:58Z", "9999-12-31 23:59:58Z"),
        ("9999-12-31 23:59:59.5Z", "9999-12-31 23:59:59.5Z"),
    ])
    func infinityIsAMomentWhereTheMapSaysSo(sent: String, expected: String) throws {
        #expect(try convert(JSON.quoted(sent), .instant) { $0.hasInfinity = true }.text == expected)
        let array = try convert("[\(JSON.quoted(sent))]", .array(.instant)) { $0.hasInfinity = true }
        #expect(array.text == "{\"\(expected)\"}")
        #expect(!array.isAdjusted)
    }

    @Test func infinityIsADayOrANumberWhereTheMapSaysSo() throws {
        func text(_ value: String, _ kind: ColumnKind) throws -> String? {
            try convert(JSON.quoted(value), kind) { $0.hasInfinity = true }.text
        }
        #expect(try text("9999-12-31", .date) == "infinity")
        #expect(try text("0000-01-01", .date) == "-infinity")
        #expect(try text("9999-12-31", .instant) == "9999-12-31")
        #expect(try text("NaN", .numeric(scale: nil)) == "NaN")
        #expect(try text("-Infinity", .real) == "-Infinity")
        #expect(try text("{NaN,1.5}", .array(.numeric(scale: nil))) == #"{"NaN","1.5"}"#)
        #expect(throws: ValueRefusal.self) { try text("now", .instant) }
        #expect(throws: ValueRefusal.self) { try text("inf", .real) }
    }

    @Test func withoutTheMapsWordInfinityIsNone() throws {
        #expect(throws: ValueRefusal.self) { try convert(#""infinity""#, .instant) }
        #expect(try convert(#""9999-12-31 23:59:59Z""#, .instant).text == "9999-12-31 23:59:59Z")
    }

    // MARK: Numbers

    @Test(arguments: [
        ("1764757204658", EpochUnit.milliseconds, "2025-12-03 10:20:04.658000+00"),
        (#""1764757204658""#, .milliseconds, "2025-12-03 10:20:04.658000+00"),
        ("1764757204", .seconds, "2025-12-03 10:20:04.000000+00"),
        ("1764757204.658", .seconds, "2025-12-03 10:20:04.658000+00"),
        ("1.764757204658e9", .seconds, "2025-12-03 10:20:04.658000+00"),
        ("0", .seconds, "1970-01-01 00:00:00.000000+00"),
        ("-1", .milliseconds, "1969-12-31 23:59:59.999000+00"),
        ("-0.0000004", .seconds, "1970-01-01 00:00:00.000000+00"),
        ("0.0000005", .seconds, "1970-01-01 00:00:00.000001+00"),
        ("-62135596801", .seconds, "0001-12-31 23:59:59.000000+00 BC"),
        ("253402300800", .seconds, "10000-01-01 00:00:00.000000+00"),
    ])
    func numbersAreMomentsWhereTheMapSaysSo(json: String, unit: EpochUnit, expected: String) throws {
        let value = try convert(json, .instant) { $0.epoch = unit }
        #expect(value.text == expected)
        #expect(!value.isAdjusted)
        let wall = try convert("[\(json)]", .array(.timestamp)) { $0.epoch = unit }
        #expect(wall.text == "{\"\(expected.replacing("+00", with: ""))\"}")
    }

    @Test func aNumberForADayDropsItsTimeAndSaysSo() throws {
        let day = try convert("86400", .date) { $0.epoch = .seconds }
        #expect(day.text == "1970-01-02")
        #expect(!day.isAdjusted)
        let within = try convert("86400001", .date) { $0.epoch = .milliseconds }
        #expect(within.text == "1970-01-02")
        #expect(within.isAdjusted)
    }

    @Test func whatIsNoNumberOrBeyondTheCalendarIsRefused() throws {
        for json in ["9223372036854775807", "1e300", "-1e20", #""12x""#, "true"] {
            #expect(throws: ValueRefusal.self, "\(json)") {
                try convert(json, .instant) { $0.epoch = .seconds }
            }
        }
        #expect(throws: ValueRefusal.self) { try convert("1764757204", .instant) }
        // A date is one still.
        #expect(try convert(#""2025-12-03""#, .instant) { $0.epoch = .seconds }.text == "2025-12-03")
    }

    // MARK: Empty texts

    @Test func anEmptyTextIsNULLWhereTheMapSaysSo() throws {
        for kind in [ColumnKind.instant, .integer(bits: 32), .text(limit: nil), .json, .array(.date), .uuid] {
            #expect(
                try convert(#""""#, kind) { $0.emptyIsNull = true } == ConvertedValue(nil, isAdjusted: true),
                "\(kind)")
        }
        #expect(try convert(#""""#, .text(limit: nil)).text == "")
        #expect(throws: ValueRefusal.self) { try convert(#""""#, .instant) }
        // Not in an array, where it is an element.
        #expect(
            try convert(#"["",""]"#, .array(.text(limit: nil))) { $0.emptyIsNull = true }.text == #"{"",""}"#)
    }
}
