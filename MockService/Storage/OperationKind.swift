import PowerSyncWire

/// The kind of an operation as the state file has it.
enum OperationKind: Int64 {
    case put = 0
    case remove = 1
    case move = 2
    case clear = 3

    var wire: Operation.Kind {
        switch self {
        case .put: .put
        case .remove: .remove
        case .move: .move
        case .clear: .clear
        }
    }
}
