import PowerSyncWire

extension ExpressionRun {
    /// The value of a call in the SQLite engine; functions that SQLite lacks are those of the default engine.
    func sqliteCall(
        _ function: Function, _ arguments: [Expression], in inputs: some ExpressionInputs
    ) throws(EvaluationError) -> ScalarValue {
        if function == .ifnull || function == .iif { return try call(function, arguments, in: inputs) }
        return try sqliteCall(function, values(of: arguments, in: inputs))
    }

    /// The value of a call whose arguments are all computed.
    func sqliteCall(
        _ function: Function, _ values: [ScalarValue]
    ) throws(EvaluationError) -> ScalarValue {
        let first = values.first ?? .null
        let second = values.count > 1 ? values[1] : nil
        switch function {
        case .upper: return SQLiteFunctions.mapped(first) { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 }
        case .lower: return SQLiteFunctions.mapped(first) { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
        case .length: return SQLiteFunctions.length(first)
        case .substring, .substr:
            return SQLiteFunctions.substring(
                first, from: second ?? .null, count: values.count > 2 ? values[2] : nil)
        case .instr: return SQLiteFunctions.position(in: first, of: second ?? .null)
        case .hex: return TextFunctions.hex(.blob(first.sqliteBytes ?? []))
        case .jsonExtract: return try SQLiteJSON.extract(first, Array(values.dropFirst()))
        case .jsonArrayLength: return try SQLiteJSON.arrayLength(first, second)
        default: return try call(function, values).sqlite
        }
    }
}
