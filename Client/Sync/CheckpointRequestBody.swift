import PowerSyncWire

/// An id with which the service marks the checkpoint that includes all uploads so far (client-core 8.4).
package struct CheckpointRequest: Sendable, Hashable {
    /// The id of this client.
    package var clientID: String
    /// The number; the service keeps the greatest.
    package var id: Int64

    /// Makes a request of its fields.
    package init(clientID: String, id: Int64) {
        self.clientID = clientID
        self.id = id
    }

    /// The body of `POST /sync/checkpoint-request`.
    package var json: JSON {
        .object([
            JSONMember("client_id", .string(clientID)),
            JSONMember("checkpoint_request_id", .string(String(id))),
        ])
    }
}
