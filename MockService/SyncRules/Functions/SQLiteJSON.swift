import PowerSyncWire

/// JSON as SQLite's functions see it: paths with brackets, and the first member of a name.
enum SQLiteJSON {
    /// A step of a path.
    private enum Step {
        /// The member of a name.
        case name(ExactText)
        /// The element at an index.
        case index(Int)
        /// The element at an index from the end, from 1.
        case last(Int)
    }

    /// `->` and `->>`: a text that begins with `$` is a path, so is one in brackets without its `$`, digits are an index,
    /// any other text is a name.
    ///
    /// - Throws: `EvaluationError` if the value is no JSON, or the path none.
    static func member(
        _ value: ScalarValue, _ name: ScalarValue, _ form: MemberForm
    ) throws(EvaluationError) -> ScalarValue {
        guard let json = try read(value), let name = name.sqliteText else { return .null }
        let steps: [Step]
        if name.utf8.first == UInt8(ascii: "$") {
            steps = try path(name)
        } else if name.hasPrefix("["), name.hasSuffix("]") {
            steps = try path("$" + name)
        } else if name.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let index = Int(name) {
            steps = [.index(index)]
        } else {
            steps = [.name(ExactText(name))]
        }
        guard let part = part(of: json, steps) else { return .null }
        return form == .json ? ScalarValue(text: part.text) : scalar(part)
    }

    /// `json_extract`: of several paths an array of what they lead to.
    ///
    /// - Throws: `EvaluationError` if the value is no JSON, or a path none.
    static func extract(_ value: ScalarValue, _ paths: [ScalarValue]) throws(EvaluationError) -> ScalarValue {
        guard let json = try read(value) else { return .null }
        var parts: [JSON?] = []
        for text in paths {
            guard let text = text.sqliteText else { return .null }
            parts.append(part(of: json, try path(text)))
        }
        if parts.count == 1 { return parts[0].map { scalar($0) } ?? .null }
        return ScalarValue(text: JSON.array(parts.map { $0 ?? .null }).text)
    }

    /// `json_array_length`: 0 for what is no array, NULL for what is not there.
    ///
    /// - Throws: `EvaluationError` if the value is no JSON, or the path none.
    static func arrayLength(
        _ value: ScalarValue, _ path: ScalarValue?
    ) throws(EvaluationError) -> ScalarValue {
        guard let json = try read(value) else { return .null }
        guard let path else { return .integer(Int64(json.arrayValue?.count ?? 0)) }
        guard let text = path.sqliteText, let part = part(of: json, try self.path(text)) else { return .null }
        return .integer(Int64(part.arrayValue?.count ?? 0))
    }

    /// Nil for NULL.
    private static func read(_ value: ScalarValue) throws(EvaluationError) -> JSON? {
        if case .blob = value { throw EvaluationError(message: "JSON cannot hold BLOB values") }
        guard let text = value.sqliteText else { return nil }
        do throws(WireError) {
            let limits = JSONLimits(
                depth: JSONReader.depth, values: JSONReader.values, replacesHalfCharacters: true)
            return try JSON.parse(text, limits: limits)
        } catch {
            throw EvaluationError(message: "malformed JSON")
        }
    }

    private static func scalar(_ json: JSON) -> ScalarValue { ScalarValue(json).sqlite }

    private static func part(of json: JSON, _ steps: [Step]) -> JSON? {
        var value = json
        for step in steps {
            let next: JSON? =
                switch step {
                case .name(let name): value.objectMembers?.first { ExactText($0.name) == name }?.value
                case .index(let index): value.arrayValue.flatMap { index < $0.count ? $0[index] : nil }
                case .last(let index):
                    value.arrayValue.flatMap { index > 0 && index <= $0.count ? $0[$0.count - index] : nil }
                }
            guard let next else { return nil }
            value = next
        }
        return value
    }

    /// Reads `$`, `.name`, `."a name"`, `[3]`, `[#-1]`.
    private static func path(_ text: String) throws(EvaluationError) -> [Step] {
        let failure = EvaluationError(message: "JSON path error")
        var rest = Substring(text)
        guard rest.utf8.first == UInt8(ascii: "$") else { throw failure }
        rest.removeFirst()
        var steps: [Step] = []
        while let sign = rest.first {
            rest.removeFirst()
            switch sign {
            case "." where rest.first == "\"":
                rest.removeFirst()
                guard let end = rest.firstIndex(of: "\"") else { throw failure }
                steps.append(.name(ExactText(String(rest[..<end]))))
                rest = rest[rest.index(after: end)...]
            case ".":
                let name = rest.prefix { $0 != "." && $0 != "[" }
                guard !name.isEmpty else { throw failure }
                steps.append(.name(ExactText(String(name))))
                rest = rest.dropFirst(name.count)
            case "[":
                guard let end = rest.firstIndex(of: "]") else { throw failure }
                let inner = rest[..<end]
                let isFromEnd = inner.hasPrefix("#-")
                guard let number = Int(isFromEnd ? inner.dropFirst(2) : inner), number >= 0 else {
                    throw failure
                }
                steps.append(isFromEnd ? .last(number) : .index(number))
                rest = rest[rest.index(after: end)...]
            default: throw failure
            }
        }
        return steps
    }
}
