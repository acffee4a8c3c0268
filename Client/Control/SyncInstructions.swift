import PowerSyncWire

/// Effects in the words of the official core (client-core 6.11).
package enum SyncInstructions {
    /// Returns the instructions for effects, in their order; times are microseconds since 1970.
    package static func json(_ effects: [SyncEffect]) -> [JSON] { effects.compactMap(json) }

    private static func json(_ effect: SyncEffect) -> JSON? {
        switch effect {
        case .perform: nil
        case .open(let request, let checkpoint):
            named(
                "EstablishSyncStream",
                [JSONMember("request", request.json)]
                    + (checkpoint.map { [JSONMember("checkpoint_request", $0.json)] } ?? []))
        case .status(let status): named("UpdateSyncStatus", [JSONMember("status", status.json())])
        case .log(let severity, let line):
            named(
                "LogLine",
                [JSONMember("severity", .string(severity.stringValue)), JSONMember("line", .string(line))])
        case .fetchCredentials(let expired):
            named("FetchCredentials", [JSONMember("did_expire", .bool(expired))])
        case .completed(let id):
            named(
                "DidCompleteSync",
                id.map { [JSONMember("applied_checkpoint_request_id", .string(String($0)))] } ?? [])
        case .diagnostics(let event): named("HandleDiagnostics", [event.member])
        case .close(let reason):
            named("CloseSyncStream", [JSONMember("hide_disconnect", .bool(reason.reconnectsAtOnce))])
        }
    }

    private static func named(_ name: String, _ members: [JSONMember]) -> JSON {
        .object([JSONMember(name, .object(members))])
    }
}
