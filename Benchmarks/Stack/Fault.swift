/// A fault that clients, backend, service or Postgres must get over.
enum Fault: String, CaseIterable, Sendable {
    /// All connections between clients and service end.
    case cutStream = "cut-stream"
    /// They stay open, and nothing gets through any more.
    case blackHole = "blackhole-stream"
    /// The service is killed and started again.
    case serviceKill = "service-kill"
    /// Postgres stops at once, without a clean end, and is started again.
    case postgresRestart = "postgres-restart"
    /// The backend is killed and stays down while a client writes.
    case backendDown = "backend-down"
    /// A client is killed with entries to upload, and opens its database again.
    case clientKill = "client-kill"
    /// The service loses its place in the log of Postgres.
    case slotDropped = "slot-dropped"

    /// How it stands in the table.
    var work: String {
        switch self {
        case .cutStream: "all connections cut"
        case .blackHole: "connections black-holed (open, silent for ever)"
        case .serviceKill: "service killed, started again after 2 s"
        case .postgresRestart: "Postgres killed, started again after 2 s"
        case .backendDown: "backend down for 5 s with 20 writes queued"
        case .clientKill: "client killed with 20 writes queued, opened again"
        case .slotDropped: "replication slot dropped"
        }
    }

    /// What is aimed at.
    var goal: String {
        switch self {
        case .cutStream: "≤ 600 ms"
        case .blackHole: "≤ 35 s"
        case .serviceKill, .slotDropped: "≤ 1 s"
        case .postgresRestart: "≤ 1 s, nothing dies"
        case .backendDown: "≤ 700 ms"
        case .clientKill: "≤ 300 ms"
        }
    }

    /// How long it may take until a write arrives again.
    var limit: Duration {
        switch self {
        case .blackHole, .slotDropped: .seconds(300)
        default: .seconds(180)
        }
    }

    /// Returns some faults in the order in which they are played: the one whose connections stay behind comes last.
    static func inOrder(_ faults: [Fault]) -> [Fault] {
        faults.filter { $0 != .blackHole } + faults.filter { $0 == .blackHole }
    }
}
