import PowerSyncWire

/// Arrays and ranges, whose parts are converted one by one, so that each refusal of a type holds within them, too.
extension ValueConversion {
    /// Returns an array as Postgres spells it: of a JSON array, of a text that holds one, or of `{…}`.
    static func array(
        _ value: JSON, of element: ColumnKind, _ options: ValueOptions
    ) throws(ValueRefusal) -> ConvertedValue {
        var value = value
        var options = options.ofElements
        if case .string(let sent) = value {
            let text = trimmed(sent)
            if text.utf8.first == UInt8(ascii: "{") {
                value = try PostgresArray.value(of: text, areJSON: element == .json)
                // Elements of JSON are read already; a text among them is one.
                options.jsonStrings = .keep
            } else {
                value = try parsed(text)
            }
        }
        guard case .array(let elements) = value else { throw .invalid("an array") }
        var writer = ArrayWriter(kind: element, options: options)
        try writer.append(elements, depth: 0)
        return ConvertedValue(
            String(decoding: writer.bytes, as: UTF8.self), printedLength: writer.printed)
    }

    /// A text that holds a JSON array; more values than an array of that many bytes can have are not made a tree.
    private static func parsed(_ text: String) throws(ValueRefusal) -> JSON {
        do throws(WireError) {
            let limits = JSONLimits(
                depth: jsonDepth + PostgresArray.dimensions, values: PostgresArray.elementLimit)
            return try JSON.parse(text, limits: limits)
        } catch {
            throw error.code == .tooLarge ? .tooLong : .invalid("an array")
        }
    }

    /// Returns a range or a multirange with its bounds converted.
    static func range(
        _ value: JSON, of kind: ColumnKind?, _ options: ValueOptions
    ) throws(ValueRefusal) -> ConvertedValue {
        guard case .string(let text) = value else { throw .invalid("a range") }
        var ranges = RangeText(trimmed(text)) { (bound: String) throws(ValueRefusal) -> ConvertedValue in
            guard let kind else { return try unknownBound(bound) }
            return try convert(.string(bound), as: kind, options: options.ofElements)
        }
        try ranges.pass()
        return ConvertedValue(String(decoding: ranges.bytes, as: UTF8.self), printedLength: ranges.printed)
    }

    /// A bound of a type of the team's own: what no type of ours lets pass is refused.
    private static func unknownBound(_ text: String) throws(ValueRefusal) -> ConvertedValue {
        guard text.utf8.count <= DecimalText.limit else { throw .tooLong }
        if let number = DecimalText(trimmed(text)) {
            return ConvertedValue(text, printedLength: number.printedLength)
        }
        if DecimalText.isBeyondLimits(trimmed(text)) { throw .tooLargeNumber }
        let words = ["now", "today", "tomorrow", "yesterday", "epoch", "allballs"]
        guard !words.contains(trimmed(text).lowercased()) else {
            throw .invalid("no word for a moment")
        }
        return ConvertedValue(text, printedLength: 2 * text.utf8.count + 36)
    }
}
