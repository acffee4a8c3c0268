import PowerSyncWire

/// Effects in the words of the official core (client-core 6.11), with every time replaced by `"T"`.
enum SyncInstructions {
    /// Returns the instructions for effects; log lines are left out.
    static func json(_ effects: [SyncEffect]) -> [JSON] { effects.compactMap(json) }

    private static func json(_ effect: SyncEffect) -> JSON? {
        switch effect {
        case .perform, .log: nil
        case .open(let request): named("EstablishSyncStream", [JSONMember("request", request.json)])
        case .status(let status):
            named("UpdateSyncStatus", [JSONMember("status", status.json { _ in .string("T") })])
        case .fetchCredentials(let expired):
            named("FetchCredentials", [JSONMember("did_expire", .bool(expired))])
        case .completed(let id):
            named(
                "DidCompleteSync",
                id.map { [JSONMember("applied_checkpoint_request_id", .string(String($0)))] } ?? [])
        case .close(let reason):
            named("CloseSyncStream", [JSONMember("hide_disconnect", .bool(reason.reconnectsAtOnce))])
        }
    }

    private static func named(_ name: String, _ members: [JSONMember]) -> JSON {
        .object([JSONMember(name, .object(members))])
    }
}
