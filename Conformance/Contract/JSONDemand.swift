import PowerSyncWire

/// Compares what must be there with what is there.
enum JSONDemand {
    /// Returns where a value is not as it must be, or nil.
    ///
    /// Of an object the members that are named must be there, of a list each element; `*` is anything but nothing,
    /// and null is null, or nothing. Numbers are compared as they are spelled.
    ///
    /// - Parameters:
    ///   - expected: What must be there; a text `${…}` whose name stands for nothing yet is bound.
    ///   - actual: What is there; nil for nothing.
    ///   - names: What names stand for.
    ///   - path: Where it stands, for the answer.
    /// - Returns: A sentence.
    /// - Throws: `ContractError` for a name that nothing has.
    static func objection(
        _ expected: JSON, _ actual: JSON?, _ names: inout CaseNames, at path: String
    ) throws(ContractError) -> String? {
        guard let actual else { return expected.isNull ? nil : "\(path) is missing" }
        switch (expected, actual) {
        case (.string("*"), _): return actual.isNull ? "\(path) is null" : nil
        case (.string(let template), .string(let text)):
            if let name = CaseNames.whole(template), !name.contains("."), !names.knows(name) {
                names.bind(name, to: text)
                return nil
            }
            return ExactText(try names.text(template)) == ExactText(text)
                ? nil : differs(expected, actual, path)
        case (.object(let members), .object):
            for member in members {
                let place = path + "/" + member.name
                if let objection = try Self.objection(member.value, actual[member.name], &names, at: place) {
                    return objection
                }
            }
            return nil
        case (.array(let elements), .array(let found)):
            guard elements.count == found.count else {
                return "\(path) has \(found.count) elements, not \(elements.count)"
            }
            for (index, element) in elements.enumerated() {
                let place = "\(path)/\(index)"
                if let objection = try Self.objection(element, found[index], &names, at: place) {
                    return objection
                }
            }
            return nil
        default: return expected == actual ? nil : differs(expected, actual, path)
        }
    }

    private static func differs(_ expected: JSON, _ actual: JSON, _ path: String) -> String {
        "\(path) is \(actual.text.prefix(200)), not \(expected.text.prefix(200))"
    }
}
