import PowerSyncWire

/// What must hold for every line that was decoded.
enum LineProperties {
    /// Written in either format and read again, a line is the same.
    static func check(_ line: SyncLine) {
        if case .data(let data) = line { checkTexts(data.operations) }
        let json = read { () throws(WireError) in try SyncLine(parsing: line.encoded()) }
        guard json == withoutGaps(line) else { fatalError("JSON that was written says something else") }
        // A name in BSON cannot hold a NUL.
        if case .unknown(let key) = line, key.utf8.contains(0) { return }
        for wideIntegers in [false, true] {
            let bson = read { () throws(WireError) in
                try SyncLine(parsingBSON: line.encodedBSON(wideIntegers: wideIntegers))
            }
            guard bson == line else { fatalError("BSON that was written says something else") }
        }
    }

    /// Texts lie within the buffer and are UTF-8; the store takes them as they are.
    private static func checkTexts(_ operations: OperationList) {
        for entry in operations.entries {
            for text in [entry.objectType, entry.objectID, entry.subkey, entry.data] where !text.isAbsent {
                guard text.range.upperBound <= operations.bytes.count,
                    String(validating: operations.bytes[text.range], as: UTF8.self) != nil
                else { fatalError("a text that is not UTF-8") }
            }
        }
    }

    /// The texts of a data line are those that the general reader of JSON finds.
    static func check(_ line: SyncLine, isWhatATreeSays bytes: [UInt8]) {
        let tree: JSON
        do throws(WireError) { tree = try JSON.parse(bytes) } catch {
            fatalError("a line that is no JSON: \(error)")
        }
        guard case .data(let data) = line else { return }
        let elements = tree["data"]?["data"]?.arrayValue ?? []
        guard elements.count == data.operations.count else { fatalError("operations are missing") }
        for (operation, element) in zip(data.operations, elements) {
            guard operation.data == element["data"]?.stringValue,
                operation.objectType == element["object_type"]?.stringValue,
                operation.objectID == element["object_id"]?.stringValue,
                operation.subkey == element["subkey"]?.stringValue,
                operation.kind.rawValue == element["op"]?.stringValue
            else { fatalError("an operation has other texts than its line") }
        }
    }

    private static func read(_ body: () throws(WireError) -> SyncLine) -> SyncLine {
        do throws(WireError) { return try body() } catch {
            fatalError("what was written cannot be read: \(error)")
        }
    }

    /// The service writes both ends of a data line, so that JSON has them even where they were absent.
    private static func withoutGaps(_ line: SyncLine) -> SyncLine {
        guard case .data(var data) = line else { return line }
        data.after = data.after ?? 0
        data.nextAfter = data.nextAfter ?? data.operations.last?.id ?? 0
        return .data(data)
    }
}
