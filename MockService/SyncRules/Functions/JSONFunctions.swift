import PowerSyncWire

/// Functions and operators on JSON texts (service 6.10); all but `elements` read a value by its text form.
struct JSONFunctions {
    /// Whether `->` takes its right side for one name, and `null` is NULL.
    let isFixed: Bool

    /// `->` and `->>`.
    ///
    /// - Throws: `EvaluationError` if the left value is no JSON.
    func member(
        _ value: ScalarValue, _ name: ScalarValue, _ form: MemberForm
    ) throws(EvaluationError) -> ScalarValue {
        guard let text = value.textForm else { return .null }
        return member(of: try JSONReader.value(of: text), name, form)
    }

    /// A member of what was read already.
    func member(of json: JSON, _ name: ScalarValue, _ form: MemberForm) -> ScalarValue {
        // A value that is `null` as a whole is NULL, whatever the options say.
        guard !json.isNull, let name = name.textForm,
            let part = MemberPath(member: name, isFixed: isFixed).part(of: json)
        else { return .null }
        switch form {
        case .json: return part.isNull && !isFixed ? .null : ScalarValue(text: part.text)
        case .value: return ScalarValue(part, spellsNull: !isFixed)
        }
    }

    /// `json_extract`.
    ///
    /// - Throws: `EvaluationError` if the value is no JSON, or the path does not begin with `$`.
    func extract(_ value: ScalarValue, _ path: ScalarValue) throws(EvaluationError) -> ScalarValue {
        guard let text = value.textForm else { return .null }
        let json = try JSONReader.value(of: text)
        guard let path = path.textForm else { return .null }
        guard let part = try MemberPath(path: path).part(of: json), !json.isNull else { return .null }
        return ScalarValue(part, spellsNull: !isFixed)
    }

    /// `json_array_length`: 0 for what is no array, NULL for what is not there.
    ///
    /// - Parameters:
    ///   - value: The JSON.
    ///   - path: What of it is measured; nil for all of it.
    /// - Returns: How many elements it has.
    /// - Throws: `EvaluationError` if the value is no JSON, or the path does not begin with `$`.
    static func arrayLength(
        _ value: ScalarValue, _ path: ScalarValue?
    ) throws(EvaluationError) -> ScalarValue {
        guard let text = value.textForm else { return .null }
        var json = try JSONReader.value(of: text)
        if let path {
            guard let path = path.textForm else { return .null }
            guard let part = try MemberPath(path: path).part(of: json) else { return .null }
            json = part
        }
        return .integer(Int64(json.arrayValue?.count ?? 0))
    }

    /// `json_keys`: the names of an object, whole numbers first.
    ///
    /// - Throws: `EvaluationError` for anything but an object.
    static func keys(_ value: ScalarValue) throws(EvaluationError) -> ScalarValue {
        guard let text = value.textForm else { return .null }
        switch try JSONReader.value(of: text) {
        case .object(let members):
            return ScalarValue(text: JSON.array(members.map { .string($0.name) }).text)
        case .array: throw EvaluationError(message: "Cannot call json_keys on an array")
        case .null: throw EvaluationError(message: "Cannot convert undefined or null to object")
        case .bool, .number, .string: throw EvaluationError(message: "Cannot call json_keys on a scalar")
        }
    }

    /// `json_valid`: whether the value is JSON.
    static func isValid(_ value: ScalarValue) -> ScalarValue {
        guard let text = value.textForm else { return ScalarValue(false) }
        do throws(EvaluationError) {
            _ = try JSONReader.value(of: text)
            return ScalarValue(true)
        } catch {
            // That there is an error is the answer.
            return ScalarValue(false)
        }
    }

    /// `IN` and `NOT IN` of a JSON array: 1 if the array has the value, booleans being 1 and 0.
    ///
    /// - Returns: NULL if one of both is NULL; a value that is NULL wins over an array that is none.
    /// - Throws: `EvaluationError` if the right value is no text of a JSON array.
    static func contains(_ list: ScalarValue, _ value: ScalarValue) throws(EvaluationError) -> ScalarValue {
        if value.isNull { return .null }
        guard let elements = try array(list) else { return .null }
        return ScalarValue(try has(elements, value))
    }

    /// `&&`: 1 if both JSON arrays have a value in common.
    ///
    /// - Throws: `EvaluationError` if a value is neither NULL nor the text of a JSON array.
    static func overlaps(_ left: ScalarValue, _ right: ScalarValue) throws(EvaluationError) -> ScalarValue {
        if left.isNull { return .null }
        // Two clients' arrays may be long: by keys it is not the product of both.
        guard let keys = try Self.keys(of: right), let elements = try array(left) else { return .null }
        return ScalarValue(elements.contains { $0.keyValue.map { keys.contains($0) } ?? false })
    }

    /// The elements of a JSON array as keys, for what is no key equals nothing; nil for NULL.
    ///
    /// - Throws: `EvaluationError` if the value is neither NULL nor the text of a JSON array.
    static func keys(of list: ScalarValue) throws(EvaluationError) -> Set<ScalarValue>? {
        guard let elements = try array(list) else { return nil }
        return Set(elements.compactMap(\.keyValue))
    }

    private static func has(_ elements: [ScalarValue], _ value: ScalarValue) throws(EvaluationError) -> Bool {
        for element in elements {
            if try ScalarOrder.compare(element, value) == .same { return true }
        }
        return false
    }

    /// The elements of the text of a JSON array; nil for NULL.
    private static func array(_ value: ScalarValue) throws(EvaluationError) -> [ScalarValue]? {
        if value.isNull { return nil }
        guard case .text(let text) = value else {
            throw EvaluationError(message: "IN is only supported on JSON arrays")
        }
        guard let elements = try JSONReader.value(of: text.text).arrayValue else {
            // The real service says the text and nothing else.
            throw EvaluationError(message: text.text, summary: "IN needs a JSON array.")
        }
        return elements.map { ScalarValue($0) }
    }
}
