import Foundation
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

/// The converter of Postgres' texts: the first byte chooses the type, the second one what is repeated.
struct ValueTarget: FuzzTarget {
    static let words = [
        "{", "}", "(", ")", "[", "]", ",", ";", "\"", "\\", "NULL", "empty", "infinity", "-infinity", "NaN",
        " BC", "+00",
        "2023-03-06 15:47:12.4+00", "\\x", "[0:1]=", "16/B374D848", "1e-300", "9223372036854775808",
    ]

    private(set) var tally = Tally()

    private static let scalars: [PostgresType] = [
        .text, .boolean, .integer, .real, .bytes, .json, .date, .time, .timestamp, .timestampWithZone,
        .logPosition, .name,
    ]

    // Made anew each time: the sanitizer takes an indirect enumeration that a global holds for a leak.
    private static var address: PostgresType {
        .composite([
            .init(name: "street", type: .text), .init(name: "at", type: .timestampWithZone),
            .init(name: "tags", type: .array(.text, delimiter: ",")),
        ])
    }

    /// Those whose values are JSON whatever the text: others take numbers and JSON as the source has them.
    private static var nested: [PostgresType] {
        [
            .array(.text, delimiter: ","), .array(.text, delimiter: ";"), .array(.time, delimiter: ","),
            address,
            .array(address, delimiter: ","), .range(.text), .range(.timestampWithZone), .multirange(.text),
            .array(.range(.date), delimiter: ","), .composite([]),
        ]
    }

    private static var types: [PostgresType] {
        scalars + nested + [
            .array(.integer, delimiter: ","), .array(.real, delimiter: ","), .multirange(.real),
        ]
    }

    static func firstInputs(fixtures: URL) throws -> [[UInt8]] {
        let texts = [
            "t", "-3", "0.1", "\\xdeadBEEF", "{\"a\": [1]}", "0044-03-15 BC", "17:42:01.12", "infinity",
            "2023-03-06 13:47:00.5+00", "16/B374D848", "{1,NULL,3}", "{{1,2},{3,4}}", "[0:1]={7,8}",
            #"{"a b",NULL,"c\"d",x\,y}"#, "{(3,4),(1,2);(7,8),(5,6)}", "[1.5,2.5)",
            #"["2024-01-01 00:00:00+00",)"#,
            "empty", "{[1,3),[5,9)}", #"("Main ""st""","2024-01-01 00:00:00+00","{a,b}")"#,
            #"{"(x,,)",NULL}"#, "()",
            "{\0a,\0b}", "\0{\0a", "(\0\"\0)", "{\0[1,2),\0}",
        ]
        return texts.flatMap { text in
            types.indices.map { type in [UInt8(type), text.contains("\0") ? 255 : 0] + Array(text.utf8) }
        }
    }

    mutating func check(_ input: [UInt8]) {
        guard let choice = input.first else { return }
        let type = Self.types[Int(choice) % Self.types.count]
        let bytes = Repetition.unfold(Array(input.dropFirst()), limit: 1 << 12)
        let text = String(decoding: bytes, as: UTF8.self)
        for (edition, digits) in [(1, nil), (3, nil), (3, 0), (3, 3)] as [(Int, Int?)] {
            var options = CompatibilityOptions(edition: edition)
            options.fractionDigits = digits
            let converter = ValueConverter(options: options)
            do throws(ConversionError) {
                check(try converter.value(text, type), type)
            } catch {
                tally.count("refused")
                guard !error.message.isEmpty else { fatalError("an error without a message") }
            }
        }
    }

    private mutating func check(_ value: SQLiteValue, _ type: PostgresType) {
        tally.count("converted")
        guard Self.nested.contains(type), let json = value.text, json != "empty" else { return }
        guard (try? JSON.parse(json)) != nil else { fatalError("a nested value is no JSON") }
    }
}
