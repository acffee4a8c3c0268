import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What SQL cannot say in a line: integers of any size, `IS` of two values, geometries.
@Suite(.namesSeed)
struct ExpressionRunTests {
    private let run = ExpressionRun(options: CompatibilityOptions(edition: 3))

    private func value(_ expression: Expression) throws -> ScalarValue {
        try run.value(of: expression, in: RowExpressions.Row())
    }

    private func arithmetic(
        _ operation: Arithmetic, _ left: ScalarValue, _ right: ScalarValue
    ) throws -> ScalarValue {
        try value(.arithmetic(operation, .literal(left), .literal(right)))
    }

    private func integer(_ number: Int128) throws -> ScalarValue {
        try #require(ScalarValue(digits: String(number)))
    }

    @Test func integersHaveNoEnd() async throws {
        try await forEachSeed(300) { random in
            let drawn: [Int64] = (0..<3).map { _ in
                let shift = random.pick([0, 1, 20, 33, 40, 62])
                return Int64(bitPattern: random.next()) >> Int64(shift)
            }
            let (one, other, third) = (drawn[0], drawn[1], drawn[2])
            let (left, right) = (Int128(one), Int128(other))
            let (sum, isSum) = (
                try arithmetic(.add, .integer(one), .integer(other)), try integer(left + right)
            )
            #expect(sum == isSum)
            let (difference, isDifference) = (
                try arithmetic(.subtract, .integer(one), .integer(other)), try integer(left - right)
            )
            #expect(difference == isDifference)
            let product = try arithmetic(.multiply, .integer(one), .integer(other))
            let isProduct = try integer(left * right)
            #expect(product == isProduct)
            guard other != 0, third != 0 else { return }
            let (quotient, isQuotient) = (
                try arithmetic(.divide, .integer(one), .integer(other)), try integer(left / right)
            )
            #expect(quotient == isQuotient)
            let (part, isPart) = (
                try arithmetic(.divide, product, .integer(third)), try integer(left * right / Int128(third))
            )
            #expect(part == isPart)
            // Beyond 128 bits: what a product is divided by gives the other factor, whatever is added below it.
            let cube = try arithmetic(.multiply, product, .integer(third))
            let former = try arithmetic(.divide, cube, .integer(third))
            #expect(former == product)
            guard one != 0 else { return }
            let square = try arithmetic(.multiply, cube, cube)
            let root = try arithmetic(.divide, square, cube)
            #expect(root == cube)
            let isNegative = (one < 0) != ((other < 0) != (third < 0))
            let above = try arithmetic(isNegative ? .subtract : .add, cube, .integer(1))
            let factor = try arithmetic(.divide, arithmetic(.multiply, above, cube), above)
            #expect(factor == cube)
            let nothing = try arithmetic(.divide, cube, above)
            #expect(nothing == .integer(0))
        }
    }

    @Test func integersOfTooManyDigitsAreRefused() throws {
        let long = ScalarValue(text: String(repeating: "9", count: 9_999))
        #expect(try arithmetic(.subtract, long, long) == .integer(0))
        #expect(throws: EvaluationError.self) { try arithmetic(.multiply, long, long) }
        let longer = ScalarValue(text: String(repeating: "9", count: 10_001))
        #expect(throws: EvaluationError.self) { try arithmetic(.add, longer, .integer(0)) }
    }

    @Test func operandsThatAreNoNumbersCountAsTheirBeginning() throws {
        #expect(try arithmetic(.add, .blob(Array("7x".utf8)), .integer(1)) == .integer(8))
        #expect(try arithmetic(.add, .null, ScalarValue(text: "x")) == .null)
        #expect(try arithmetic(.divide, .integer(1), .real(-0.0)) == .null)
        #expect(try arithmetic(.multiply, integer(1 << 70), .real(0.5)) == .real(0x1p69))
    }

    @Test func isComparesNULLToo() throws {
        func isSame(_ left: ScalarValue, _ right: ScalarValue) throws -> ScalarValue {
            try value(.isSame(.literal(left), .literal(right)))
        }
        #expect(try isSame(.null, .null) == .integer(1))
        #expect(try isSame(.null, .integer(0)) == .integer(0))
        #expect(try isSame(.integer(1), .real(1)) == .integer(1))
        #expect(throws: EvaluationError.self) { try isSame(.blob([1]), .blob([1])) }
    }

    /// A geometry: byte order 1, a kind, and what follows as doubles and counts.
    private func geometry(_ kind: UInt32, _ parts: [[UInt8]]) -> [UInt8] {
        [1] + bytes(kind) + parts.flatMap { $0 }
    }

    private func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private func bytes(_ numbers: Double...) -> [UInt8] {
        numbers.flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number.bitPattern >> (8 * UInt64($0))) }
        }
    }

    private func texts(_ geometry: [UInt8]) throws -> [ScalarValue] {
        try [Function.geometryText, .geoJSON, .pointX].map { function in
            try value(.call(function, [.literal(.blob(geometry))]))
        }
    }

    private func texts(_ text: String, _ json: String, x: ScalarValue = .null) -> [ScalarValue] {
        [ScalarValue(text: text), ScalarValue(text: json), x]
    }

    @Test func geometriesOfAllKindsAreRead() throws {
        let point = geometry(1, [bytes(1, 2.5)])
        #expect(
            try texts(point)
                == texts("POINT(1 2.5)", #"{"type":"Point","coordinates":[1,2.5]}"#, x: .real(1)))
        let line = geometry(2, [bytes(UInt32(2)), bytes(1, 2), bytes(3, 4)])
        #expect(
            try texts(line)
                == texts("LINESTRING(1 2,3 4)", #"{"type":"LineString","coordinates":[[1,2],[3,4]]}"#))
        let ring = [bytes(UInt32(1)), bytes(UInt32(2)), bytes(1, 2), bytes(3, 4)]
        let polygon = geometry(3, ring)
        #expect(
            try texts(polygon)
                == texts("POLYGON((1 2,3 4))", #"{"type":"Polygon","coordinates":[[[1,2],[3,4]]]}"#))
        #expect(
            try texts(geometry(4, [bytes(UInt32(1)), point]))
                == texts("MULTIPOINT(1 2.5)", #"{"type":"MultiPoint","coordinates":[[1,2.5]]}"#))
        #expect(
            try texts(geometry(5, [bytes(UInt32(1)), line]))
                == texts(
                    "MULTILINESTRING((1 2,3 4))",
                    #"{"type":"MultiLineString","coordinates":[[[1,2],[3,4]]]}"#))
        #expect(
            try texts(geometry(6, [bytes(UInt32(1)), polygon]))
                == texts(
                    "MULTIPOLYGON(((1 2,3 4)))",
                    #"{"type":"MultiPolygon","coordinates":[[[[1,2],[3,4]]]]}"#))
        #expect(
            try texts(geometry(7, [bytes(UInt32(1)), point]))
                == texts(
                    "GEOMETRYCOLLECTION(POINT(1 2.5))",
                    #"{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2.5]}]}"#))
    }

    @Test func heightMeasureAndReferenceSystemAreRead() throws {
        let system = bytes(UInt32(4326))
        let both = geometry(0xE000_0001, [system, bytes(1, 2, 3, 4)])
        #expect(
            try texts(both)
                == texts("POINT ZM (1 2 3 4)", #"{"type":"Point","coordinates":[1,2,3]}"#, x: .real(1)))
        let measure = geometry(2001, [bytes(1, 2, 3)])
        #expect(
            try texts(measure)
                == texts("POINT M (1 2 3)", #"{"type":"Point","coordinates":[1,2]}"#, x: .real(1)))
        let empty = geometry(1, [bytes(.nan, .nan)])
        #expect(try texts(empty) == texts("POINT EMPTY", #"{"type":"Point","coordinates":[]}"#))
    }

    @Test func whatIsNoGeometryIsAnError() throws {
        let huge = geometry(2, [bytes(UInt32.max), bytes(1, 2)])
        var nested = geometry(1, [bytes(1, 2)])
        for _ in 0..<100 { nested = geometry(7, [bytes(UInt32(1)), nested]) }
        let point = geometry(1, [bytes(1, 2)])
        let beginnings = (1..<point.count).map { Array(point.prefix($0)) }
        for wrong in [huge, nested, geometry(9, []), []] + beginnings {
            #expect(throws: EvaluationError.self) {
                try value(.call(.geometryText, [.literal(.blob(wrong))]))
            }
        }
        // As recorded: a text without digits is an error, a number none.
        #expect(throws: EvaluationError.self) {
            try value(.call(.pointX, [.literal(ScalarValue(text: "a"))]))
        }
        #expect(try value(.call(.pointX, [.literal(.integer(2))])) == .null)
        #expect(try value(.call(.pointX, [.literal(.null)])) == .null)
    }

    @Test func jsonIsNestedSoDeepAndNoDeeper() throws {
        func length(_ depth: Int) throws -> ScalarValue {
            let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            return try value(.call(.jsonArrayLength, [.literal(ScalarValue(text: text))]))
        }
        #expect(try length(JSONReader.depth) == .integer(1))
        #expect(throws: EvaluationError.self) { try length(JSONReader.depth + 1) }
    }

    /// JavaScript takes half of a surrogate pair in JSON, and so does SQLite.
    @Test(arguments: [#"\ud83d"#, #"\ude00"#])
    func halfACharacterInJSONTakesNoRowOut(_ half: String) throws {
        let json = Expression.literal(ScalarValue(text: #"{"name":"x\#(half)","a":1}"#))
        var sqlite = CompatibilityOptions(edition: 3)
        sqlite.engine = .sqlite
        for run in [self.run, ExpressionRun(options: sqlite)] {
            for (name, expected) in [
                ("a", ScalarValue.integer(1)), ("name", ScalarValue(text: "x\u{FFFD}")),
            ] {
                let member = Expression.member(json, .literal(ScalarValue(text: name)), .value)
                let found = try run.value(of: member, in: RowExpressions.Row())
                #expect(found == expected)
            }
        }
    }

    @Test func anErrorSaysWhetherItIsAboutAPath() {
        let cases: [(String, String, EvaluationError.Kind)] = [("{}", "a", .path), ("{", "$.a", .other)]
        for (json, path, kind) in cases {
            let arguments = [json, path].map { Expression.literal(ScalarValue(text: $0)) }
            let error = #expect(throws: EvaluationError.self) { try value(.call(.jsonExtract, arguments)) }
            #expect(error?.kind == kind)
        }
    }

    @Test func functionsHaveTheirEditions() {
        #expect(Function.allCases.filter { !$0.signature.editions.contains(3) } == [.jsonValid])
        #expect(Function.allCases.filter { $0.signature.isSQLiteOnly } == [.substr])
        #expect(Function.allCases.filter { $0.signature.arguments.contains(0) } == [.unixepoch, .datetime])
    }
}
