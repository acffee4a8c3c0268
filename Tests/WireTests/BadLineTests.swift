import Foundation
import PowerSyncWire
import Testing

/// What a peer can do wrong in a line, in both formats: always a typed error, never a line that says something else.
@Suite struct BadLineTests {
    private func isTaken(_ tree: LineNode, _ format: LineFormat) -> Bool {
        do throws(WireError) {
            _ = try format.decode(tree.bytes(format))
            return true
        } catch {
            return false
        }
    }

    // MARK: The matrix of fields and values

    @Test(arguments: LineFixture.all) func describesEveryFieldOfALine(fixture: LineFixture) {
        #expect(fixture.tree.paths.map(\.path) == fixture.fields.map(\.path))
        for format in LineFormat.allCases { #expect(isTaken(fixture.tree, format)) }
    }

    @Test(arguments: LineFixture.all, LineFormat.allCases)
    func refusesALineWithoutARequiredField(fixture: LineFixture, format: LineFormat) {
        for (path, field) in fixture.fields {
            let isTaken = isTaken(fixture.tree.replacing(path, with: nil), format)
            #expect(isTaken == !field.isRequired, "without \(path)")
        }
    }

    @Test(arguments: LineFixture.all, LineFormat.allCases)
    func refusesAFieldOfAnotherType(fixture: LineFixture, format: LineFormat) {
        for (path, field) in fixture.fields {
            for sample in LineField.Sample.allCases where sample.value.formats.contains(format) {
                let isTaken = isTaken(fixture.tree.replacing(path, with: sample.value), format)
                #expect(isTaken == field.types.contains(sample), "\(path) of type \(sample)")
            }
        }
    }

    @Test(arguments: LineFixture.all, LineFormat.allCases)
    func takesAFieldUpToTheEdgesOfItsRangeAndNotBeyond(fixture: LineFixture, format: LineFormat) {
        for (path, field) in fixture.fields {
            for value in field.good where value.formats.contains(format) {
                #expect(isTaken(fixture.tree.replacing(path, with: value), format), "\(path): \(value)")
            }
            for value in field.bad where value.formats.contains(format) {
                #expect(!isTaken(fixture.tree.replacing(path, with: value), format), "\(path): \(value)")
            }
        }
    }

    @Test(arguments: LineFixture.all) func refusesATypeThatNobodyKnowsWhereverItStands(fixture: LineFixture) {
        for (path, _) in fixture.fields {
            for type: UInt8 in [0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 19, 99, 127, 255] {
                let value = LineNode.binary(type, [0, 0, 0, 0, 0, 0, 0, 0])
                #expect(!isTaken(fixture.tree.replacing(path, with: value), .bson), "\(path): type \(type)")
            }
        }
    }

    @Test(arguments: LineFixture.all, LineFormat.allCases)
    func refusesATextThatIsNotUTF8(fixture: LineFixture, format: LineFormat) {
        let paths = fixture.tree.paths.filter { if case .text = $0.value { true } else { false } }
        for path in paths.map(\.path) {
            for bytes: [UInt8] in [
                [0xFF], [0x61, 0xC3], [0xC3, 0x28], [0x80], [0xED, 0xA0, 0x80], [0xC0, 0xAF],
                Array(repeating: 0x61, count: 30) + [0xE2, 0x82] + Array(repeating: 0x61, count: 30),
            ] {
                #expect(!isTaken(fixture.tree.replacing(path, with: .text(bytes)), format), "\(path)")
            }
        }
    }

    // MARK: Cut lines

    @Test(arguments: LineFixture.all, LineFormat.allCases)
    func refusesALineThatIsCutAnywhere(fixture: LineFixture, format: LineFormat) {
        let bytes = fixture.tree.bytes(format)
        for count in 0..<bytes.count {
            #expect(throws: WireError.self) { try format.decode(Array(bytes[..<count])) }
        }
        if format == .json { #expect(throws: WireError.self) { try format.decode(bytes + [0x7D]) } }
    }

    @Test(arguments: LineFixture.all)
    func refusesADocumentThatIsCutAnywhereThoughItsLengthSaysSo(fixture: LineFixture) {
        let bytes = fixture.tree.bytes(.bson)
        for count in 4..<bytes.count {
            let length = withUnsafeBytes(of: Int32(count).littleEndian) { Array($0) }
            #expect(throws: WireError.self) { try SyncLine(parsingBSON: length + bytes[4..<count]) }
            #expect(throws: WireError.self) {
                try SyncLine(parsingBSON: length + bytes[4..<count - (count > 4 ? 1 : 0)] + [0])
            }
        }
    }

    @Test(arguments: LineFixture.all) func survivesEveryLengthInADocument(fixture: LineFixture) {
        let bytes = fixture.tree.bytes(.bson)
        for position in 0..<bytes.count - 3 {
            for length: Int32 in [.min, -1, 0, 1, 4, 5, 0x7FFF_FFFF] {
                var changed = bytes
                withUnsafeBytes(of: length.littleEndian) {
                    changed.replaceSubrange(position..<position + 4, with: $0)
                }
                // Some of them are other values of a field; none may stop the process.
                _ = try? SyncLine(parsingBSON: changed)
            }
        }
    }

    // MARK: Depth and size

    @Test(arguments: ["foo", "checkpoint_complete", "data"]) func refusesNestingWithoutEnd(key: String) {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = String(repeating: open, count: 10_000) + "1" + String(repeating: close, count: 10_000)
            for line in [
                "{\"\(key)\":\(deep)}", "{\"\(key)\":{\"x\":\(deep)}}", "{\"\(key)\":\(deep.prefix(10_000))",
                "{\"data\":{\"bucket\":\"b\",\"after\":\(deep),\"data\":[]}}",
                "{\"data\":{\"bucket\":\"b\",\"data\":[{\"op_id\":\"1\",\"op\":\"PUT\",\"checksum\":1,\"x\":\(deep)}]}}",
            ] {
                #expect(throws: WireError.self) { try SyncLine(parsing: Array(line.utf8)) }
            }
        }
        for type: UInt8 in [3, 4] {
            let deep = LineNode.binary(type, nested(10_000, type))
            for tree: LineNode in [
                .object([(key, deep)]), .object([(key, .object([("x", deep)]))]),
                LineFixture.data.tree.replacing("data.after", with: deep),
                LineFixture.data.tree.replacing("data.data.0.data", with: deep),
                .object([("token_expires_in", .integer(1)), ("x", deep)]),
            ] {
                #expect(throws: WireError.self) { try SyncLine(parsingBSON: tree.bytes(.bson)) }
            }
        }
    }

    /// Documents within each other, written from outside to inside.
    private func nested(_ depth: Int, _ type: UInt8) -> [UInt8] {
        var heads: [UInt8] = []
        for level in (1...depth).reversed() {
            withUnsafeBytes(of: Int32(5 + 8 * level).littleEndian) { heads.append(contentsOf: $0) }
            heads += [type, 0x30, 0]
        }
        return heads + [5, 0, 0, 0, 0] + [UInt8](repeating: 0, count: depth)
    }

    @Test(arguments: LineFormat.allCases) func passesNestingThatIsDeepButBounded(format: LineFormat) {
        var deep = LineNode.integer(1)
        for _ in 0..<120 { deep = .array([deep]) }
        #expect(isTaken(.object([("foo", deep)]), format))
        #expect(isTaken(LineFixture.data.tree.replacing("data.after", with: deep), format))
    }

    @Test(arguments: LineFormat.allCases) func carriesARowOf15MiBByteForByte(format: LineFormat) throws {
        let unit =
            "{\"id\":\"é😀\n\\\"\",\"text\":\"" + String(repeating: "0123456789abcdef", count: 4_096) + "\"}\n"
        let count = (15 << 20) / unit.utf8.count + 1
        let row = String(repeating: unit, count: count)
        var operation = Operation(
            id: 1, kind: .put, objectType: "t", objectID: "r", checksum: Checksum(1), data: unit)
        var line = DataLine(bucket: "b", after: 0, nextAfter: 1, operations: [operation])
        let bytes: [UInt8]
        switch format {
        case .json:
            // Quoting 15 MiB takes long in a debug build, so one part is quoted and repeated.
            let quoted = String(JSON.quoted(unit).dropFirst().dropLast())
            let text = String(decoding: SyncLine.data(line).encoded(), as: UTF8.self)
            let part = try #require(text.range(of: quoted))
            bytes = Array(
                text.replacingCharacters(in: part, with: String(repeating: quoted, count: count)).utf8)
        case .bson:
            operation.data = row
            line.operations = [operation]
            bytes = SyncLine.data(line).encodedBSON()
        }
        guard case .data(let data) = try format.decode(bytes) else {
            Issue.record("another line")
            return
        }
        let entry = try #require(data.operations.entries.first)
        #expect(entry.data.count >= 15 << 20)
        #expect(Data(data.operations.bytes[entry.data.range]) == Data(row.utf8))
        #expect(data.operations.string(entry.objectID) == "r")
    }
}
