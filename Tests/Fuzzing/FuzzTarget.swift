import Foundation

/// Takes inputs of one kind; a property that does not hold ends the process.
protocol FuzzTarget {
    /// Words that inputs of this kind are made of.
    static var words: [String] { get }

    /// The first inputs; `fixtures` is the folder of the recordings.
    static func firstInputs(fixtures: URL) throws -> [[UInt8]]

    /// What inputs turned out to be.
    var tally: Tally { get }

    /// Makes a target that has seen no input.
    init() throws

    /// Checks one input.
    mutating func check(_ input: [UInt8])
}

/// The targets by the names that `Scripts/fuzz.sh` has for them.
enum FuzzTargets {
    static func type(named name: String) -> (any FuzzTarget.Type)? {
        switch name {
        case "lines": LineTarget.self
        case "pgoutput": PgOutputTarget.self
        case "http": HTTPTarget.self
        case "tokens": TokenTarget.self
        case "keys": KeyTarget.self
        case "configuration": ConfigurationTarget.self
        case "sync-configs": SyncConfigTarget.self
        case "sql": SQLTarget.self
        case "values": ValueTarget.self
        case "uploads": UploadTarget.self
        case "maps": MapTarget.self
        default: nil
        }
    }
}
