import PowerSyncWire

extension SyncIterationStatus {
    /// Returns the status as the official core writes it (client-core 6.12).
    ///
    /// The operations of a priority stand in one bucket that was not there at the last checkpoint, which keeps the
    /// arithmetic of readers right.
    ///
    /// - Returns: a JSON object; times are microseconds since 1970.
    package func json() -> JSON {
        var members = [
            JSONMember("connected", .bool(connected)), JSONMember("connecting", .bool(connecting)),
            JSONMember(
                "priority_status",
                .array(
                    priorities.map {
                        .object([
                            JSONMember("priority", .integer($0.priority)),
                            JSONMember("last_synced_at", .integer($0.lastSyncedAt)),
                            JSONMember("has_synced", .bool(true)),
                        ])
                    })),
            JSONMember("downloading", downloading.map(Self.json) ?? .null),
            JSONMember("streams", .array(streams.map(\.json))),
        ]
        if let appliedCheckpointRequestID {
            members.append(
                JSONMember(
                    "internal_last_applied_checkpoint_request_id",
                    .string(String(appliedCheckpointRequestID))))
        }
        return .object(members)
    }

    private static func json(_ progress: [PriorityProgress]) -> JSON {
        let buckets = progress.map { entry in
            JSONMember(
                "prio_\(entry.priority)",
                .object([
                    JSONMember("priority", .integer(entry.priority)), JSONMember("at_last", .integer(0)),
                    JSONMember("since_last", .integer(entry.downloadedOperations)),
                    JSONMember("target_count", .integer(entry.totalOperations)),
                ]))
        }
        return .object([JSONMember("buckets", .object(buckets))])
    }
}

extension StreamSyncState {
    fileprivate var json: JSON {
        .object([
            JSONMember("name", .string(name)),
            // A text that is no JSON cannot have been asked for; it is shown as it is stored.
            JSONMember("parameters", parameters.map { (try? JSON.parse($0)) ?? .string($0) } ?? .null),
            JSONMember("priority", priority.map { .integer($0) } ?? .null),
            JSONMember("active", .bool(isActive)), JSONMember("is_default", .bool(isDefault)),
            JSONMember("has_explicit_subscription", .bool(hasExplicitSubscription)),
            JSONMember("expires_at", expiresAt.map { .integer($0) } ?? .null),
            JSONMember("last_synced_at", lastSyncedAt.map { .integer($0) } ?? .null),
            JSONMember(
                "progress",
                .object([
                    JSONMember("total", .integer(totalOperations)),
                    JSONMember("downloaded", .integer(downloadedOperations)),
                ])),
        ])
    }
}
