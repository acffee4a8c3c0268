import PowerSyncWire

extension ExpressionRun {
    /// The value of a call; arguments that are missing are NULL, those beyond what the function takes are computed and
    /// not looked at, as older editions do (service 6.10).
    func call(
        _ function: Function, _ arguments: [Expression], in inputs: some ExpressionInputs
    ) throws(EvaluationError) -> ScalarValue {
        switch function {
        case .ifnull:
            for argument in arguments {
                let value = try value(of: argument, in: inputs)
                if !value.isNull { return value }
            }
            return .null
        case .iif:
            guard let condition = arguments.first else { return .null }
            let index = try holds(condition, in: inputs) ? 1 : 2
            guard index < arguments.count else { return .null }
            return try value(of: arguments[index], in: inputs)
        default: return try call(function, values(of: arguments, in: inputs))
        }
    }

    /// The value of a call whose arguments are all computed.
    func call(
        _ function: Function, _ arguments: [ScalarValue]
    ) throws(EvaluationError) -> ScalarValue {
        let first = arguments.first ?? .null
        let second = arguments.count > 1 ? arguments[1] : nil
        switch function {
        case .upper: return TextFunctions.upper(first)
        case .lower: return TextFunctions.lower(first)
        case .length: return TextFunctions.length(first)
        case .substring, .substr:
            let count = arguments.count > 2 ? arguments[2] : nil
            return try TextFunctions.substring(first, from: second ?? .null, count: count)
        case .instr: return TextFunctions.position(in: first, of: second ?? .null)
        case .hex: return TextFunctions.hex(first)
        case .base64: return TextFunctions.base64(first)
        case .uuidBlob: return try TextFunctions.uuidBytes(first)
        case .typeof: return TextFunctions.typeName(first)
        case .ifnull, .iif: return first
        case .jsonExtract: return try json.extract(first, second ?? .null)
        case .jsonArrayLength: return try JSONFunctions.arrayLength(first, second)
        case .jsonKeys: return try JSONFunctions.keys(first)
        case .jsonValid: return JSONFunctions.isValid(first)
        case .unixepoch: return TimeFunctions.unixTime(arguments)
        case .datetime: return TimeFunctions.dateAndTime(arguments)
        case .geoJSON: return try SpatialFunctions.geoJSON(first)
        case .geometryText: return try SpatialFunctions.text(first)
        case .pointX: return try SpatialFunctions.coordinate(0, of: first)
        case .pointY: return try SpatialFunctions.coordinate(1, of: first)
        }
    }
}
